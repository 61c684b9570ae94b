/** What other contexts of an extension, and other versions, have sent and stored. */
import {
  createCoordinator,
  createSync,
  importCollection,
  memoryMessengers,
  memoryStorage,
  STORAGE_KEYS,
} from '../../../src/sync/index.ts'
import { FakeClock, settled } from '../../../src/testing/fake-clock.ts'
import type { Input, Target } from '../target.ts'
import { verdictOf } from '../target.ts'

const settings = { featureEnabled: false, scopeMode: 'all', themeToken: '#123456' }
const items = {
  [STORAGE_KEYS.index]: { ids: ['a', 'b'] },
  [STORAGE_KEYS.settings]: settings,
  'trackedEntity:a': { n: 1 },
  'trackedEntity:b': { n: 2, checked: true },
}
const meta = { option: 'B', revision: 5, schemaVersion: 1, shards: 1 }
const operations = [
  {
    delta: [
      ['c', { n: 3 }],
      ['a', null],
    ],
    seenAt: 5,
  },
  { id: 'a', patch: [{ n: 7 }, ['checked']] },
  { id: 'a', swap: [{ n: 1 }, { n: 2 }] },
  { settings: [{ themeToken: '#654321' }, []] },
  { orphans: ['z'] },
]
const record = { format: 'option B, index shards 1, schema 1', ops: operations }
const RECORD_KEY = `${STORAGE_KEYS.logPrefix}001893499200000000.other`

const text = (value: unknown) => JSON.stringify(value)
const base: Input = {
  stored: text(items),
  message: text({ action: 'entityDelta', revision: 5, delta: { a: { n: 1 }, b: null } }),
  record: text(record),
  collection: text({ settings, entities: [['x', { n: 1 }]] }),
}

export const sync: Target = {
  corpus: [
    base,
    {
      ...base,
      message: text({ action: 'entityPatch', revision: 5, ops: [{ op: 'remove', entityId: 'a' }] }),
    },
    { ...base, stored: text({ ...items, [STORAGE_KEYS.meta]: meta }) },
    { ...base, stored: text({ ...items, [STORAGE_KEYS.meta]: { ...meta, schemaVersion: 2 } }) },
    { ...base, stored: text({ [STORAGE_KEYS.all]: { a: { n: 1 } } }) },
    { ...base, record: text({ refused: [null, { code: 'store-failed', message: 'x' }], gone: ['a'] }) },
    { ...base, record: '0' },
  ],
  open: () => ({
    async feed({ stored = '', message = '', record = '', collection = '' }) {
      const values = [stored, message, record, collection].map(parse)
      const [found, sent, logged, imported] = values
      // A storage takes objects only, and carries no deeper nesting than a clone.
      if (typeof found !== 'object' || found === null || values.some(isTooDeep)) return 'unsendable'
      const clock = new FakeClock(Date.UTC(2030, 0, 1, 12))
      const storage = memoryStorage({ ...found, [RECORD_KEY]: logged })
      const connect = memoryMessengers()
      const page = createSync<{ n: number }>({ storage, messenger: connect(), clock, onWarning() {} })
      const coordinator = createCoordinator({ storage, messenger: connect(), clock, onWarning() {} })
      const stranger = connect()
      const work = async () => {
        await page.bootstrap()
        const sending = stranger.send(sent as never, AbortSignal.timeout(1000))
        await sending.catch(() => {})
        for (const [id, entity] of page.state.entries)
          if (typeof id !== 'string' || typeof entity !== 'object' || entity === null)
            throw new TypeError('no entity')
        await importCollection(page, imported as never)
        await page.setEntity('good', { n: 1 })
        if (!page.state.entries.some(([id]) => id === 'good')) throw new Error('a write is not shown')
      }
      const working = verdictOf(work)
      let verdict: Awaited<typeof working> | undefined
      const noticed = working.then((found) => {
        verdict = found
      })
      noticed.catch(() => {
        verdict = 'refused'
      })
      for (let second = 0; second < MOST_SECONDS && !verdict; second++) {
        await settled()
        if (!verdict) await clock.advance(1000)
      }
      if (!verdict) throw new Error('a write does not end')
      await noticed
      void page.close()
      void coordinator.close()
      return verdict
    },
  }),
}

const MOST_SECONDS = 120

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function isTooDeep(value: unknown): boolean {
  try {
    structuredClone(value)
    return JSON.stringify(value) === ''
  } catch {
    return true
  }
}
