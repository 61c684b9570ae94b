import assert from 'node:assert/strict'
import { type Ask, type LeaseError, type LeaseRecord, systemClock } from 'holdfast'
import {
  Calls,
  Effects,
  LeaseTable,
  LocalListeners,
  PushConnection,
  type Running,
  StoreCalls,
  storeError,
} from 'holdfast/store-kit'

const ASK: Ask = { resource: 'invoice:42', id: 'a', owner: 'surface', ttl: 60_000 }
const { resource, id } = ASK

function explain(error: unknown, about?: string): LeaseError {
  return storeError('Map', error, { retryable: false }, about)
}

/** Calls that end, listeners and the connection that pushes, as docs/stores/your-own.md lists them. */
export async function storeCallsCase(): Promise<void> {
  await endsCalls()
  await sendsRequests()
  await tellsListeners()
  // The timers of a connection that is to be opened again keep no process alive.
  const alive = setInterval(() => {}, 1000)
  await opensConnection().finally(() => clearInterval(alive))
}

async function endsCalls(): Promise<void> {
  const calls = new Calls({ backend: 'Map', explain })
  assert.equal(await calls.run(() => 5), 5)
  assert.equal(await calls.scan(async () => 6), 6)
  await calls.close()
  await assert.rejects(
    calls.run(() => 5),
    { code: 'closed' },
  )

  const options = { backend: 'Map', kind: 'bus', explain, clock: systemClock, closeLimitMs: 500 }
  const other = new Calls(options)
  const queued: boolean[] = []
  const call = {
    ...{ signal: new AbortController().signal, timeout: 30_000 },
    queued: (isQueued: boolean) => void queued.push(isQueued),
  }
  const inSteps = async (stop: Running) => {
    stop.call?.queued?.(true)
    stop.hold()
    stop.leave(systemClock.monotonic())
    stop.throwIfAborted()
    return 5
  }
  assert.equal(await other.run(inSteps, call, resource), 5)
  assert.deepEqual(queued, [true, true, false])
  assert.equal(await other.scan(() => 6, call, resource), 6)
  const reasons: LeaseError[] = []
  const givesUp = async (stop: Running) => {
    stop.abort(explain(new Error('enough')))
    stop.listen((reason) => reasons.push(reason))
  }
  await assert.rejects(other.run(givesUp), /enough/)
  assert.equal(reasons.length, 1)
  await other.close()
}

async function sendsRequests(): Promise<void> {
  const table = new LeaseTable()
  const acquire = () => table.acquire(ASK, '', systemClock.now(), new Effects())
  const renew = () => table.renew({ resource, id, ttl: 30_000 }, systemClock.now(), new Effects())
  const release = () => table.release({ resource, id }, systemClock.now(), new Effects())
  const isCalled = (waiter: string) => waiter === 'first'
  const order = () => 'in-turn' as const
  const waits = { closeLimitMs: 500, maxInFlight: 10, isCalled, order, release: () => release }
  const options = { kind: 'store', clock: systemClock, ...waits }
  const call = { signal: new AbortController().signal, timeout: 30_000, queued: () => {} }
  for (const more of [{}, options]) {
    const calls = new StoreCalls({ backend: 'Map', explain, ...more })
    assert((await calls.acquire(ASK, acquire)).granted)
    assert((await calls.renew(renew)).ok)
    assert((await calls.release({ resource, id }, release)).ended)
    assert((await calls.acquire(ASK, acquire, call)).granted)
    assert((await calls.renew(renew, call, resource)).ok)
    assert((await calls.release({ resource, id }, release, call)).ended)
    assert.equal(await calls.run(() => 5), 5)
    assert.equal(await calls.scan(() => 6), 6)
    assert.equal(calls.load.inFlight, 0)
    await calls.close()
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
  listeners.refused(id, true)
  assert.equal(listeners.isAwaited(resource), true)
  assert.deepEqual(listeners.waiting(), [{ id, resource }])
  listeners.wake(id, 0)
  assert.equal(listeners.takeCall(id), true)
  listeners.wakeAll()
  listeners.dropped(id)
  assert.equal(listeners.has(id), false)
  assert.deepEqual(heard.splice(0), ['wake', 'wake', 'wake'])

  const lease = granted()
  listeners.expect(ask)
  listeners.granted(lease)
  listeners.renewed(lease)
  listeners.failed(id)
  assert.equal(listeners.holds(lease), true)
  assert.deepEqual([listeners.held(), listeners.heldOn(resource)], [[lease], [lease]])
  listeners.checkHeld([lease], [[lease]])
  listeners.observed(resource, lease.token, [id])
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

async function opensConnection(): Promise<void> {
  const opened: boolean[] = []
  const breaks: (() => void)[] = []
  let isNeeded = true
  let again = Promise.withResolvers<void>()
  const listeners = new LocalListeners()
  const push = new PushConnection<{ readonly number: number }>({
    clock: systemClock,
    async open(broken, stop) {
      stop.throwIfAborted()
      return { number: breaks.push(broken) }
    },
    close: () => {},
    isNeeded: () => isNeeded,
    opened(_, missed) {
      opened.push(missed)
      again.resolve()
    },
  })
  const reopened = async (by: () => void) => {
    again = Promise.withResolvers<void>()
    by()
    await again.promise
  }
  await reopened(() => push.openIn(0))
  await reopened(() => breaks[0]?.())
  const connection = await push.open()
  assert.equal(connection.number, 2)
  await reopened(() => push.drop(connection))
  isNeeded = false
  await push.closeIfUnneeded()
  assert.equal(push.connection, undefined)

  const lease = granted()
  listeners.answered({ ...ASK, lost: () => {} }, { granted: true, lease })
  await reopened(() => push.openForHolder(lease, listeners))
  await push.closeIfUnneeded()
  await reopened(() => push.openIn(0, () => true))
  assert.deepEqual(opened, [false, true, true, false, false])
  await push.close()
}
