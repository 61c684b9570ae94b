import { isDeepStrictEqual } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Bus, BusMessage } from '../../src/server/bus.ts'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'

export interface BusNode {
  readonly bus: Bus
  /** Breaks the line between this node and the server; the result mends it. */
  cut?(): () => void
  /** Ends the client that the bus was given. */
  end?(): unknown
}

/** What every bus must do. `open` gives one more node on the same bus, as another process would have it. */
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
      const opened: (BusNode & { readonly heard: BusMessage[]; readonly subscription: AsyncDisposable })[] =
        []
      for (let n = 0; n < count; n++) {
        const node = await open()
        nodes.push(node)
        const heard: BusMessage[] = []
        const subscription = await node.bus.subscribe((message) => heard.push(message))
        opened.push({ ...node, heard, subscription })
      }
      return opened
    }
    const message = (n: number): BusMessage => ({ topic: 'document', data: { n } })
    const numbersOf = (heard: readonly BusMessage[]) => heard.map(({ data: { n } }) => n)

    it('delivers to every node, the own too, once and in order', async () => {
      const opened = await begin(3)
      const sent = Array.from({ length: 100 }, (_, n) => n)
      await Promise.all(sent.map((n) => opened[0]?.bus.publish(message(n))))
      for (const { heard } of opened) await eventually(() => expect(numbersOf(heard)).toEqual(sent))
    })

    it.each([
      ['long', 'x'.repeat(100_000)],
      ['in every script', 'Zoë 編集中 🔒 \u2028 "quoted" \\ \n'.repeat(1000)],
      ['with what no text may have', 'a\u0000b\ud800c'],
    ])('delivers texts that are %s', async (_, text) => {
      const [a, b] = await begin(2)
      const sent = { topic: 'document', data: { text, nested: { list: [1, null, true] } } }
      await a?.bus.publish(sent)
      await eventually(() => expect(isDeepStrictEqual(b?.heard, [sent])).toBe(true))
    })

    it('harms nobody when a listener throws, and ends with its disposal', async () => {
      const [a] = await begin(1)
      const ended = vi.fn()
      const bad = await a?.bus.subscribe(() => {
        throw new Error('bad listener')
      })
      const subscription = await a?.bus.subscribe(ended)
      await subscription?.[Symbol.asyncDispose]()
      await a?.bus.publish(message(1))
      await eventually(() => expect(numbersOf(a?.heard ?? [])).toEqual([1]))
      expect(ended).not.toHaveBeenCalled()
      await bad?.[Symbol.asyncDispose]()
    })

    it('hears again after its last listener has gone and another came', async () => {
      const [a, b] = await begin(2)
      await b?.subscription[Symbol.asyncDispose]()
      const again = vi.fn()
      await b?.bus.subscribe(again)
      await a?.bus.publish(message(1))
      await eventually(() => expect(again).toHaveBeenCalledOnce())
      expect(b?.heard).toEqual([])
    })

    it('refuses when it was closed', async () => {
      const [a] = await begin(1)
      await a?.bus.close()
      await expect(a?.bus.publish(message(1))).rejects.toMatchObject({ code: 'closed' })
      await expect(a?.bus.subscribe(() => {})).rejects.toMatchObject({ code: 'closed' })
    })

    it('hears again after its connection was lost', async ({ skip }) => {
      const [a, b] = await begin(2)
      if (!b?.cut) return skip('no connection to lose')
      const mend = b.cut()
      await a?.bus.publish(message(1))
      await eventually(() => expect(numbersOf(a?.heard ?? [])).toContain(1))
      mend()
      let n = 1
      await vi.waitFor(
        async () => {
          await a?.bus.publish(message(++n))
          expect(b.heard.length).toBeGreaterThan(0)
        },
        { timeout: HANG_MS, interval: 100 },
      )
      const numbers = numbersOf(b.heard)
      expect(numbers).toEqual([...new Set(numbers)])
      expect(numbers).not.toContain(1)
    })
  })
}
