import { describe, expect, it } from 'vitest'
import { createChannel } from './channel.ts'
import { notify } from './notify.ts'

describe('a channel', () => {
  it('a channel delivers every event to every listener in one order, also one that a listener causes', () => {
    const channel = createChannel<string>()
    const heard: string[] = []
    channel.subscribe((event) => {
      heard.push(`first ${event}`)
      if (event === 'a') channel.emit('b')
    })
    channel.subscribe((event) => heard.push(`second ${event}`))
    channel.emit('a')
    expect(heard).toEqual(['first a', 'second a', 'first b', 'second b'])
  })

  it('a channel lets the same function subscribe twice, and ends each subscription alone', () => {
    const channel = createChannel<string>()
    const heard: string[] = []
    const listener = (event: string) => heard.push(event)
    const end = channel.subscribe(listener)
    channel.subscribe(listener)
    channel.emit('a')
    end()
    end()
    channel.emit('b')
    expect(heard).toEqual(['a', 'a', 'b'])
    expect(channel.isHeard).toBe(true)
  })

  it('a channel rejects a listener that is not a function', () => {
    expect(() => createChannel().subscribe(5n as never)).toThrow('listener: expected a function, got 5n')
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
    const channel = createChannel<string>()
    const heard: string[] = []
    channel.subscribe(listener)
    channel.subscribe((event) => heard.push(event))
    channel.emit('a')
    notify(listener)
    await null
    expect(heard).toEqual(['a'])
  })
})
