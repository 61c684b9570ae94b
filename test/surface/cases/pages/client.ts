import assert from 'node:assert/strict'
import { createDocumentLock, followContent, INITIAL_STATE, NOT_LOADED } from 'holdfast/client'
import { workerClock } from 'holdfast/worker-clock'
import { unique } from '../backend.ts'
import { until } from './until.ts'

/** The lock of a document, as docs/client.md uses it: one tab writes, the other one asks for the lock. */
export async function clientCase(): Promise<void> {
  const roomId = `${unique}-minutes`
  await using lock = createDocumentLock({ roomId })
  await using other = createDocumentLock({
    ...{ url: location.origin, roomId, name: 'Noor', headers: { 'x-trace': 'surface' } },
    ...{ clientId: crypto.randomUUID(), clock: workerClock() },
  })
  assert.equal(lock.state.phase, INITIAL_STATE.phase)
  assert(await lock.acquire())
  assert.equal((await lock.load()).content, NOT_LOADED.content)
  lock.rename('Mika')
  await lock.save('A line')

  await using saved = followContent(other)
  await until(saved, () => saved.state.content === 'A line')
  await lock.save('Another line')
  await until(saved, () => saved.state.content === 'Another line')
  await saved.reload()
  assert(saved.state.isLoaded)
  await saved.close()

  const asked = other.requestHandOver()
  await until(lock, () => lock.state.request?.kind === 'request')
  await lock.answer(true)
  assert(await asked)
  assert(await lock.takeOver())
  const waiting = other.acquire({ wait: '30s' })
  await until(lock, () => lock.state.waiting === 1)
  await lock.release()
  assert(await waiting)
  await other.close()
  assert.equal(other.state.held, false)
}
