/** Unsaved words that a page has left in the storage of the browser. */
import { copyJournal } from '../../../src/client/draft/copy-local-storage.ts'
import { isCopyRecord } from '../../../src/client/draft/copy-record.ts'
import type { Target } from '../target.ts'

const unsaved = { content: { text: 'a' }, base: { token: 5, content: null }, theirs: [], sentWith: null }
const copy = (at: number, more: object | null) => ({ text: JSON.stringify({ at, unsaved: more }) })

export const copies: Target = {
  corpus: [
    copy(5, unsaved),
    copy(6, { ...unsaved, base: { token: null, content: 'a' }, theirs: ['b'], sentWith: 5 }),
    copy(7, { ...unsaved, base: { token: 'unreadable', content: null } }),
    copy(8, null),
  ],
  open() {
    const stored = new Map<string, string>()
    const given = Object.getOwnPropertyDescriptor(globalThis, 'localStorage')
    Object.defineProperty(globalThis, 'localStorage', { value: storageOf(stored), configurable: true })
    const journal = copyJournal('http://holdfast.test/ room-1')
    journal.write({ page: 'good', at: 1, unsaved })
    const [start = ''] = [...stored.keys()].map((key) => key.slice(0, -'good'.length))
    return {
      feed({ text = '' }) {
        stored.set(`${start}bad`, text)
        const [good, bad, ...more] = journal.read().sort((a) => (a.page === 'good' ? -1 : 1))
        if (good?.page !== 'good' || more.length > 0) throw new Error('the good copy is not readable')
        journal.remove('bad', 0)
        if (!bad) return 'refused'
        if (bad.page !== 'bad' || !isCopyRecord(bad) || Number.isNaN(bad.at)) throw new Error('not a copy')
        return 'accepted'
      },
      async close() {
        if (given) Object.defineProperty(globalThis, 'localStorage', given)
        else Reflect.deleteProperty(globalThis, 'localStorage')
      },
    }
  },
}

/** Keys are own properties, as those of `localStorage`. */
function storageOf(stored: Map<string, string>): object {
  return new Proxy(
    {},
    {
      ownKeys: () => [...stored.keys()],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      get: (_, name) =>
        ({
          getItem: (key: string) => stored.get(key) ?? null,
          setItem: (key: string, value: string) => void stored.set(key, value),
          removeItem: (key: string) => void stored.delete(key),
        })[String(name)],
    },
  )
}
