import assert from 'node:assert/strict'
import type { Messenger, StorageAdapter } from 'holdfast/sync'
import { unique } from '../backend.ts'

/** What a sync calls on a storage. */
export async function storageCase(storage: StorageAdapter): Promise<void> {
  const key = `${unique}:key`
  const { promise: changed, resolve } = Promise.withResolvers<void>()
  const stop = storage.subscribe((changes) => changes && key in changes && resolve())
  await storage.set({ [key]: { n: 1 } })
  await changed
  assert.deepEqual(await storage.get([key]), { [key]: { n: 1 } })
  assert((await storage.keys()).includes(key))
  await storage.remove([key])
  assert.deepEqual(await storage.get([key]), {})
  stop()
}

/** What a sync calls on a messenger. Something else has to answer with what it has heard. */
export async function messengerCase(messenger: Messenger): Promise<void> {
  const stop = messenger.subscribe(() => undefined)
  const answer = await messenger.send(unique, new AbortController().signal)
  assert.deepEqual(answer, { heard: unique })
  stop()
}

export function answers(messenger: Messenger): () => void {
  return messenger.subscribe((message) => ({ heard: message }))
}
