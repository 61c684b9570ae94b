import { LeaseError, messageOf } from '../base/errors.ts'
import { createLayout } from './layout.ts'
import type { loadWriting } from './load-writing.ts'
import { checkOptions, LOAD_AGAIN_MS, type SyncOptions } from './options.ts'
import { createWarn } from './warnings.ts'
import { WRITER_TOOLS } from './writer-tools.ts'
import type { Writing } from './writing.ts'

/** The parts that a sync and a coordinator have in common. `load`: what a write needs. */
export function assemble<E extends object, S extends object>(
  options: SyncOptions<E, S>,
  load: typeof loadWriting,
) {
  const { schema, onWarning, option, ...checked } = checkOptions(options)
  const { storage, namespace, shards, clock } = checked
  const layout = createLayout({ namespace, option, shards, storage })
  const closing = new AbortController()
  const warn = createWarn(onWarning)
  let isOffline = false
  let loaded: Promise<Writing> | undefined
  const parts = {
    ...checked,
    layout,
    format: { option, shards, schemaVersion: schema.version },
    migrations: schema.migrations,
    warn,
    closing: closing.signal,
    stop: () => closing.abort(),
    writing: () => {
      loaded ??= load().then(
        ({ createWriting }) => createWriting(WRITER_TOOLS, parts),
        (cause) => {
          loaded = undefined
          // The page is offline. The log keeps the writes, and any other context may carry them out.
          throw new LeaseError('store-unavailable', messageOf(cause), { cause })
        },
      )
      return loaded
    },
    /** There are records to carry out. */
    soon: () => {
      if (parts.leavesRecords || closing.signal.aborted) return
      parts.writing().then(
        ({ schedule }) => schedule.soon(),
        (error) => {
          if (!isOffline) warn('write-postponed', error.message, error)
          isOffline = true
          clock.setTimer(parts.soon, LOAD_AGAIN_MS, true)
        },
      )
    },
    /** Carries out what is scheduled. */
    finish: async () => (await loaded?.catch(() => null))?.schedule.finish(),
  }
  return parts
}

export type Parts<E extends object, S extends object> = ReturnType<typeof assemble<E, S>>
