import { describe, expect, it } from 'vitest'
import { createEmitter } from './emitter.ts'
import { notify } from './notify.ts'

describe('an emitter', () => {
  it('an emitter delivers every event to every listener in one order, also one that a listener causes', () => {
    const emitter = createEmitter<string>()
    const heard: string[] = []
    emitter.subscribe((event) => {
      heard.push(`first ${event}`)
      if (event === 'a') emitter.emit('b')
    })
    emitter.subscribe((event) => heard.push(`second ${event}`))
    emitter.emit('a')
    expect(heard).toEqual(['first a', 'second a', 'first b', 'second b'])
  })

  it('an emitter lets the same function subscribe twice, and ends each subscription alone', () => {
    const emitter = createEmitter<string>()
    const heard: string[] = []
    const listener = (event: string) => heard.push(event)
    const end = emitter.subscribe(listener)
    emitter.subscribe(listener)
    emitter.emit('a')
    end()
    end()
    emitter.emit('b')
    expect(heard).toEqual(['a', 'a', 'b'])
    expect(emitter.isHeard).toBe(true)
  })

  it('an emitter rejects a listener that is not a function', () => {
    expect(() => createEmitter().subscribe(5n as never)).toThrow('listener: expected a function, got 5n')
  })
})

describe('a listener that fails', () => {
  it.each([
    [
      'at once',
      () => {
        throw new Error('listener')
      },
    ],
    ['later', () => Promise.reject(new Error('listener'))],
    // biome-ignore lint/suspicious/noThenProperty: a thenable of the user's own
    ['as a thenable', () => ({ then: (_: unknown, reject: () => void) => reject() })],
  ])('%s affects nobody else', async (_, listener) => {
    const emitter = createEmitter<string>()
    const heard: string[] = []
    emitter.subscribe(listener)
    emitter.subscribe((event) => heard.push(event))
    emitter.emit('a')
    notify(listener)
    await null
    expect(heard).toEqual(['a'])
  })
})
