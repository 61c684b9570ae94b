import assert from 'node:assert/strict'
import { type Ask, type LeaseError, type LeaseRecord, systemClock } from 'holdfast'
import {
  type CallWork,
  Effects,
  LeaseTable,
  LocalListeners,
  StoreCalls,
  storeError,
} from 'holdfast/store-kit'

const ASK: Ask = { resource: 'invoice:42', id: 'a', owner: 'surface', ttl: 60_000 }
const { resource, id } = ASK

function explain(error: unknown, about?: string): LeaseError {
  return storeError('Map', error, { retryable: false }, about)
}

/** Calls that end and listeners, as docs/stores/your-own.md lists them. */
export async function storeCallsCase(): Promise<void> {
  await sendsRequests()
  await tellsListeners()
}

async function sendsRequests(): Promise<void> {
  const table = new LeaseTable()
  const acquire = () => table.acquire(ASK, '', systemClock.now(), new Effects())
  const renew = () => table.renew({ resource, id, ttl: 30_000 }, systemClock.now(), new Effects())
  const release = () => table.release({ resource, id }, systemClock.now(), new Effects())
  const options = { clock: systemClock, closeLimitMs: 500, maxInFlight: 10, release: () => release }
  const call = { signal: new AbortController().signal, timeout: 30_000, limited: false, queued: () => {} }
  for (const more of [{}, options]) {
    const calls = new StoreCalls({ backend: 'Map', explain, ...more })
    assert((await calls.acquire(ASK, acquire)).granted)
    assert((await calls.renew(renew)).ok)
    assert((await calls.release({ resource, id }, release)).ended)
    assert((await calls.acquire(ASK, acquire, call)).granted)
    assert((await calls.renew(renew, call, resource)).ok)
    assert((await calls.release({ resource, id }, release, call)).ended)
    assert.equal(await calls.acquireAll([ASK], () => null), null)
    assert.equal(
      (await calls.acquireAll([ASK], () => table.acquireAll([ASK], systemClock.now(), new Effects()), call))
        ?.length,
      1,
    )
    assert((await calls.release({ resource, id }, release)).ended)
    assert.equal(await calls.run(() => 5), 5)
    const inSteps = async (stop: Parameters<CallWork<unknown>>[0]) => {
      stop.throwIfAborted()
      return 6
    }
    assert.equal(await calls.run(inSteps, call, resource), 6)
    assert.equal(calls.load.inFlight, 0)
    await calls.close()
    await assert.rejects(
      calls.run(() => 5),
      { code: 'closed' },
    )
  }
}

function granted(more: Partial<Ask> = {}): LeaseRecord {
  const answer = new LeaseTable().acquire({ ...ASK, ...more }, '', systemClock.now(), new Effects())
  assert(answer.granted)
  return answer.lease
}

async function tellsListeners(): Promise<void> {
  const listeners = new LocalListeners(systemClock)
  const heard: string[] = []
  const ask: Ask = { ...ASK, wake: () => heard.push('wake'), lost: () => heard.push('lost') }
  listeners.expect(ask)
  assert.equal(listeners.isNeeded, true)
  listeners.wake(id, 0)
  listeners.wakeAll()
  assert.deepEqual(heard.splice(0), ['wake', 'wake'])

  const lease = granted()
  listeners.answered(ask, { granted: true, lease })
  listeners.ended(id, lease.token)
  assert.deepEqual(heard.splice(0), ['lost'])

  const events: string[] = []
  const all = listeners.watch(({ type }) => events.push(type))
  await using _ = listeners.watch(({ type }) => events.push(type), 'invoice:')
  listeners.tellChange(lease)
  listeners.tellGap()
  await all[Symbol.asyncDispose]()
  assert.deepEqual(events, ['change', 'change', 'gap', 'gap'])

  listeners.answered(ask, { granted: true, lease })
  listeners.carryOut({ wakes: new Map(), changes: [{ ...lease, state: 'expired' }] })
  assert.deepEqual(heard, ['lost'])
  assert.equal(listeners.forget(id), null)
  listeners.clear()
  assert.equal(new LocalListeners().isNeeded, false)
}
