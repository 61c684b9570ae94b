import { isDeepStrictEqual } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Bus, BusMessage } from '../../src/server/bus.ts'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'

export interface BusNode {
  readonly bus: Bus
  /** Breaks the connection between this node and the server. The returned function allows it again. */
  cut?(): () => void
  /** Ends the client that the bus was given. */
  end?(): unknown
}

/** What every bus must do. `open` creates another node on the same bus, as another process would. */
export function describeBus(name: string, makeOpen: () => () => Promise<BusNode>): void {
  describe(name, () => {
    const nodes: BusNode[] = []
    afterEach(async () => {
      for (const { bus, end } of nodes.splice(0)) {
        await bus.close()
        await end?.()
      }
    })
    const begin = async (count: number) => {
      const open = makeOpen()
      const opened: (BusNode & {
        readonly received: BusMessage[]
        readonly subscription: AsyncDisposable
      })[] = []
      for (let n = 0; n < count; n++) {
        const node = await open()
        nodes.push(node)
        const received: BusMessage[] = []
        const subscription = await node.bus.subscribe((message) => received.push(message))
        opened.push({ ...node, received, subscription })
      }
      return opened
    }
    const message = (n: number): BusMessage => ({ topic: 'document', data: { n } })
    const numbersOf = (received: readonly BusMessage[]) => received.map(({ data: { n } }) => n)

    it('a bus delivers to every node, including the sender, once and in order', async () => {
      const opened = await begin(3)
      const sent = Array.from({ length: 100 }, (_, n) => n)
      await Promise.all(sent.map((n) => opened[0]?.bus.publish(message(n))))
      for (const { received } of opened) await eventually(() => expect(numbersOf(received)).toEqual(sent))
    })

    it.each([
      ['long', 'x'.repeat(100_000)],
      ['in every script', 'Zoë 編集中 🔒 \u2028 "quoted" \\ \n'.repeat(1000)],
      ['with invalid characters', 'a\u0000b\ud800c'],
    ])('a bus delivers texts that are %s', async (_, text) => {
      const [a, b] = await begin(2)
      const sent = { topic: 'document', data: { text, nested: { list: [1, null, true] } } }
      await a?.bus.publish(sent)
      await eventually(() => expect(isDeepStrictEqual(b?.received, [sent])).toBe(true))
    })

    it('a listener that throws affects nobody else, and a disposed one receives nothing', async () => {
      const [a] = await begin(1)
      const ended = vi.fn()
      const bad = await a?.bus.subscribe(() => {
        throw new Error('bad listener')
      })
      const subscription = await a?.bus.subscribe(ended)
      await subscription?.[Symbol.asyncDispose]()
      await a?.bus.publish(message(1))
      await eventually(() => expect(numbersOf(a?.received ?? [])).toEqual([1]))
      expect(ended).not.toHaveBeenCalled()
      await bad?.[Symbol.asyncDispose]()
    })

    it('a bus receives messages again after its last listener was disposed and another one came', async () => {
      const [a, b] = await begin(2)
      await b?.subscription[Symbol.asyncDispose]()
      const again = vi.fn()
      await b?.bus.subscribe(again)
      await a?.bus.publish(message(1))
      await eventually(() => expect(again).toHaveBeenCalledOnce())
      expect(b?.received).toEqual([])
    })

    it('a bus refuses all calls after it was closed', async () => {
      const [a] = await begin(1)
      await a?.bus.close()
      await expect(a?.bus.publish(message(1))).rejects.toMatchObject({ code: 'closed' })
      await expect(a?.bus.subscribe(() => {})).rejects.toMatchObject({ code: 'closed' })
    })

    it('a bus receives messages again after its connection was lost', async ({ skip }) => {
      const [a, b] = await begin(2)
      if (!b?.cut) return skip('no connection to lose')
      const allow = b.cut()
      await a?.bus.publish(message(1))
      await eventually(() => expect(numbersOf(a?.received ?? [])).toContain(1))
      allow()
      let n = 1
      await vi.waitFor(
        async () => {
          await a?.bus.publish(message(++n))
          expect(b.received.length).toBeGreaterThan(0)
        },
        { timeout: HANG_MS, interval: 100 },
      )
      const numbers = numbersOf(b.received)
      expect(numbers).toEqual([...new Set(numbers)])
      expect(numbers).not.toContain(1)
    })
  })
}
