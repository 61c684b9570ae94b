import { beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeClock, settled } from '../../testing/fake-clock.ts'
import { Ear, type Hearing } from './ear.ts'

interface FakeLine extends Hearing {
  isClosed: boolean
}

let clock: FakeClock
let lines: FakeLine[]
let refusing: boolean
let opening: Promise<void>
let ear: Ear
const listener = vi.fn()
beforeEach(() => {
  clock = new FakeClock()
  lines = []
  refusing = false
  opening = Promise.resolve()
  listener.mockReset()
  ear = new Ear(async (hearing) => {
    const line = { ...hearing, isClosed: false }
    lines.push(line)
    await opening
    if (refusing) throw new Error('refused')
    return { close: () => Object.assign(line, { isClosed: true }) }
  }, clock)
})

const MESSAGE = { topic: 'a', data: {} }
const TEXT = JSON.stringify(MESSAGE)
const openLines = () => lines.filter((line) => !line.isClosed).length

describe('the ear of a bus', () => {
  it('opens one line for all listeners, and closes it after the last', async () => {
    const subscriptions = await Promise.all([ear.add(listener), ear.add(listener)])
    expect(lines).toHaveLength(1)
    lines[0]?.heard(TEXT)
    expect(listener.mock.calls).toEqual([[MESSAGE], [MESSAGE]])
    for (const subscription of subscriptions) {
      expect(openLines()).toBe(1)
      await subscription[Symbol.asyncDispose]()
    }
    expect(openLines()).toBe(0)
  })

  it('tells the first listener that the line cannot be opened', async () => {
    refusing = true
    await expect(ear.add(listener)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 'bus: refused',
    })
    await clock.advance(60_000)
    expect(lines).toHaveLength(1)
  })

  it('opens again and again when the line was dropped, until it is open', async () => {
    await ear.add(listener)
    refusing = true
    lines[0]?.dropped()
    await clock.advance(10_000)
    expect(lines.length).toBeGreaterThan(3)
    refusing = false
    await clock.advance(2000)
    lines.at(-1)?.heard(TEXT)
    lines[0]?.heard(TEXT)
    expect(listener).toHaveBeenCalledOnce()
    const count = lines.length
    await clock.advance(60_000)
    expect(lines).toHaveLength(count)
  })

  it('opens another line when its own messages do not come back', async () => {
    await ear.add(listener)
    ear.expectEcho()
    lines[0]?.heard(TEXT)
    await clock.advance(10_000)
    expect(lines).toHaveLength(1)
    ear.expectEcho()
    await clock.advance(10_000)
    expect([lines.length, lines[0]?.isClosed, openLines()]).toEqual([2, true, 1])
  })

  it('is not open when the line was dropped meanwhile', async () => {
    const opened = Promise.withResolvers<void>()
    opening = opened.promise
    const added = ear.add(listener)
    lines[0]?.dropped()
    opened.resolve()
    await expect(added).rejects.toMatchObject({ code: 'store-unavailable' })
    await ear.add(listener)
    expect([lines.length, lines[0]?.isClosed, openLines()]).toEqual([2, true, 1])
  })

  it('closes a line that opens when nobody listens any more', async () => {
    const opened = Promise.withResolvers<void>()
    opening = opened.promise
    const added = ear.add(listener)
    await ear.close()
    opened.resolve()
    await added
    expect([lines.length, openLines()]).toEqual([1, 0])
  })

  it.each(['open', 'dropped'])('stays closed once it was closed while %s', async (state) => {
    await ear.add(listener)
    if (state === 'dropped') lines[0]?.dropped()
    await ear.close()
    await clock.advance(60_000)
    expect([lines.length, openLines()]).toEqual([1, 0])
    await settled()
    await expect(ear.add(listener)).rejects.toMatchObject({ code: 'closed' })
  })

  it.each([
    '',
    'x',
    '7',
    'null',
    '{}',
    '{"topic":"a"}',
    '{"topic":7,"data":{}}',
    '{"topic":"a","data":null}',
  ])('drops what is no message: %s', async (text) => {
    await ear.add(listener)
    lines[0]?.heard(text)
    expect(listener).not.toHaveBeenCalled()
  })
})
