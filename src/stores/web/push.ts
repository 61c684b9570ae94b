import { isObject } from '../../base/arguments.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { LocalListeners } from '../local/listeners.ts'

/** What the tabs tell each other. */
export interface TabMessage {
  readonly changes: readonly LeaseRecord[]
  /** Waiters, and after how many milliseconds they should ask again. */
  readonly wakes?: ReadonlyMap<string, number>
}

export interface TabPush {
  /** Tells this tab and all others. */
  publish(message: TabMessage): void
  close(): void
}

/** Connects the listeners of all tabs, over the BroadcastChannel of this name. */
export function tabPush(name: string, listeners: LocalListeners): TabPush {
  const channel = new BroadcastChannel(name)
  let closed = false
  channel.onmessage = ({ data }) => {
    if (isMessage(data)) deliver(data)
    else listeners.tellGap()
  }
  channel.onmessageerror = () => listeners.tellGap()

  function deliver({ changes, wakes = new Map() }: TabMessage): void {
    listeners.carryOut({ changes, wakes })
    for (const lease of changes) listeners.tellChange(lease)
  }

  return {
    publish(message) {
      const isEmpty = message.changes.length === 0 && !message.wakes?.size
      if (closed || isEmpty) return
      channel.postMessage(message)
      deliver(message)
    },
    close() {
      closed = true
      channel.close()
    },
  }
}

/** False: another version, or another program of this site, sent it. */
function isMessage(data: unknown): data is TabMessage {
  if (!isObject(data)) return false
  const { changes, wakes } = data
  return Array.isArray(changes) && changes.every(isRecord) && (wakes === undefined || wakes instanceof Map)
}

function isRecord(value: unknown): boolean {
  const { resource, id, state } = Object(value)
  return [resource, id, state].every((text) => typeof text === 'string')
}
