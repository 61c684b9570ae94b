import assert from 'node:assert/strict'
import {
  createDocumentLock,
  createDraft,
  followContent,
  INITIAL_STATE,
  jsonCodec,
  mergeJson,
  mergeText,
  NOT_LOADED,
  textCodec,
} from 'holdfast/client'
import { workerClock } from 'holdfast/worker-clock'
import { unique } from '../backend.ts'
import { until } from './until.ts'

/** The lock of a document, as docs/client.md uses it: one tab writes, the other one asks for the lock. */
export async function clientCase(): Promise<void> {
  await locksDocument()
  await draftsDocument()
}

async function locksDocument(): Promise<void> {
  const roomId = `${unique}-minutes`
  await using lock = createDocumentLock(roomId)
  await using other = createDocumentLock({
    ...{ url: location.origin, roomId, name: 'Noor', headers: { 'x-trace': 'surface' } },
    ...{ clientId: crypto.randomUUID(), idleAfter: '5m', presence: true, clock: workerClock() },
  })
  assert.equal(lock.state.phase, INITIAL_STATE.phase)
  assert.deepEqual([lock.url, lock.roomId], [other.url, roomId])
  assert(await lock.acquire())
  assert.equal((await lock.load()).content, NOT_LOADED.content)
  lock.rename('Mika')
  await lock.save('A line')

  await using typed = followContent(other, { codec: textCodec })
  await until(typed, () => typed.state.content.startsWith('A line'))
  await using saved = followContent(other)
  await until(saved, () => saved.state.content === 'A line')
  await lock.save('Another line')
  await until(saved, () => saved.state.content === 'Another line')
  await saved.reload()
  assert(saved.state.isLoaded)
  await saved.close()

  const stop = lock.beforeRelease(() => lock.save('The last line'))
  const asked = other.requestHandoff()
  await until(lock, () => lock.state.request?.kind === 'request')
  lock.touch()
  await lock.answer(true)
  assert(await asked)
  assert.equal((await other.load()).content, 'The last line')
  stop()
  assert(await lock.takeover())
  assert(await other.takeOver())
  assert(await lock.requestHandOver())
  const waiting = other.acquire({ wait: '30s' })
  await until(lock, () => lock.state.waiting === 1)
  await lock.release()
  assert(await waiting)
  await other.close()
  assert.equal(other.state.held, false)
}

/** Two tabs write the same document, one after the other, and one of them did not hear of the other. */
async function draftsDocument(): Promise<void> {
  const roomId = `${unique}-draft`
  await using lock = createDocumentLock(roomId)
  await using other = createDocumentLock({ roomId, clientId: crypto.randomUUID() })
  await using draft = createDraft(lock, {
    ...{ codec: textCodec, saveAfter: '10ms', saveWithin: '1s', keep: true, clock: workerClock() },
  })
  await until(draft, () => draft.state.status === 'saved')
  draft.edit('mine, typed without the lock')
  assert.equal(draft.state.status, 'kept')
  assert(await other.acquire())
  await other.save('theirs')
  await until(draft, () => draft.state.status === 'conflict')
  draft.takeTheirs()
  await until(draft, () => draft.state.status === 'saved')
  draft.bringBack()
  await until(draft, () => draft.state.status === 'conflict')
  await other.release()
  assert(await lock.acquire())
  await draft.takeMine()
  await until(draft, () => draft.state.status === 'saved')
  await draft.merge(mergeText('one\ntwo', 'ONE\ntwo', 'one\nTWO').mine)
  await draft.flush()
  assert.equal((await other.load()).content, 'ONE\nTWO')
  await draft.close()

  const codec = jsonCodec({ n: 0 }, (saved) => ({ n: Number(Object(saved).n) }))
  assert.deepEqual(codec.decode(codec.encode({ n: 1 })), { n: 1 })
  assert.deepEqual(jsonCodec({ n: 0 }).decode(null), { n: 0 })
  assert.equal(mergeJson(1, 2, 1).mine, codec.merge({ n: 1 }, { n: 2 }, { n: 1 }).mine.n)
}
