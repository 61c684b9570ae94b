/** The files of a project: the lock of earlier browsers, and those of AutoSave. */
import { createArchive, isSaved } from '../../../src/autosave/archive.ts'
import { AutoSaveError } from '../../../src/autosave/errors.ts'
import { createPageJournal, type Journal } from '../../../src/autosave/journal.ts'
import { findRecoverable, listGenerations } from '../../../src/autosave/recovery.ts'
import { encodeSave, measure } from '../../../src/autosave/save-file.ts'
import { type LockRecord, readRecords } from '../../../src/project/lock-file.ts'
import { TTL_MS } from '../../../src/project/options.ts'
import { SCOPES, UNREADABLE } from '../../../src/project/project-lease.ts'
import { FakeClock } from '../../../src/testing/fake-clock.ts'
import { FakeDisk } from '../../autosave/fake-disk.ts'
import { reading, type Target } from '../target.ts'

const NOW = Date.UTC(2030, 0, 1, 12)
const record = { id: 'tab-1', ttlExpiresAt: NOW + 5000, mtime: NOW }

export const lockFile = reading(
  [
    JSON.stringify({ autosave: record }),
    JSON.stringify({ autosave: record, history: { ...record, id: 'tab-2' } }),
    JSON.stringify({ fromTomorrow: record }),
    '{}',
  ],
  (text) => {
    const records = readRecords({ SCOPES, TTL_MS, UNREADABLE }, { text, lastModified: NOW }, NOW)
    const isDamaged = Object.values(records).some(({ id }) => id.startsWith(UNREADABLE))
    // A scope whose record cannot be read counts as held until the damage is old.
    if (isDamaged && !SCOPES.every((scope) => records[scope])) throw new Error('a scope has no record')
    return isDamaged ? null : records
  },
  (records, text) => {
    const inherited = Object.getPrototypeOf(records)
    if (inherited !== null && inherited !== Object.prototype) throw new Error('the records inherit')
    for (const [scope, { id, ttlExpiresAt, mtime } = Object()] of Object.entries<Partial<LockRecord> | null>(
      JSON.parse(text),
    ))
      if (
        id &&
        typeof id === 'string' &&
        [ttlExpiresAt, mtime].every(Number.isFinite) &&
        !Object.hasOwn(records, scope)
      )
        throw new Error(`${scope} was dropped`)
    for (const { id, ttlExpiresAt, mtime } of Object.values(records))
      if (typeof id !== 'string' || !(ttlExpiresAt <= NOW + TTL_MS) || !Number.isFinite(mtime))
        throw new Error('not a record')
  },
)

const ID = '2030-01-01T12:00:00.000Z'
const OLDER = '2030-01-01T11:00:00.000Z'
const PATH = '/project/autosave'

function saved(id: string, state: unknown): string {
  const text = JSON.stringify(state)
  return encodeSave({ id, text, ...measure(text) })
}

const NEWEST = saved(ID, { words: ['né', '💣'], n: 1 })
const OLD = saved(OLDER, { words: [], n: 0 })
const { checksum, bytes } = measure(JSON.stringify({ words: [], n: 0 }))
const project = {
  current: JSON.stringify({ holdfast: 1, savedAt: ID, file: `history/${ID}.json` }),
  index: JSON.stringify({ holdfast: 1, saves: [{ id: OLDER, checksum, bytes }] }),
  newest: NEWEST,
  journal: `${ID}\n${saved('2030-01-01T12:01:00.000Z', { words: ['typed'] })}`,
}

/** What a browser, or another version, has left in the directory and in the journal. The older save stays whole. */
export const autosave: Target = {
  corpus: [
    project,
    { ...project, index: '', journal: '' },
    { ...project, current: '' },
    { ...project, newest: NEWEST.slice(0, -5) },
    { ...project, current: JSON.stringify({ holdfast: 2, savedAt: ID }) },
  ],
  open: () => ({
    async feed({ current = '', index = '', newest = '', journal = '' }) {
      const files = new Map([
        [`${PATH}/current.json`, current],
        [`${PATH}/index.json`, index],
        [`${PATH}/history/${ID.replaceAll(':', '-')}.json`, newest],
        [`${PATH}/history/${OLDER.replaceAll(':', '-')}.json`, OLD],
      ])
      const folders = ['', '/project', PATH, `${PATH}/history`]
      const archive = createArchive(() => new FakeDisk({}, files, new Set(folders)).root)
      const pages = createPageJournal({
        journal: storedJournal(journal),
        clock: new FakeClock(NOW),
        read: () => ({}),
        tracker: { isUnsaved: false, base: null, ownChecksums: [] },
        onWritten() {},
        onError(error) {
          throw error
        },
      })
      try {
        const found = await findRecoverable(archive, pages, { limit: 10, onLoad() {} })
        const states = await Promise.all(found.map((each) => each.read().catch(expectCorrupt)))
        if (!states.some((state) => Object(state).n === 0))
          throw new Error('the whole save cannot be recovered')
        for (const each of found)
          if (!Number.isSafeInteger(each.bytes) || !Number.isFinite(each.savedAt))
            throw new Error('not a save')
        await listGenerations(archive)
        const { current: now } = await archive.scan()
        await isSaved(archive, now, checksum)
        pages.searchNews(now)
        return states.length > 1 ? 'accepted' : 'refused'
      } catch (error) {
        if (error instanceof AutoSaveError && error.code === 'other-format') return 'refused'
        throw error
      }
    },
  }),
}

function storedJournal(text: string): Journal {
  return { read: () => (text === '' ? [] : [{ key: 'other', text }]), write() {}, remove() {} }
}

function expectCorrupt(error: unknown): null {
  if (error instanceof AutoSaveError && error.code === 'corrupt') return null
  throw error
}
