const { locks } = navigator

const of = (list, name, property) => list.filter((lock) => lock.name === name).map((lock) => lock[property])

/** The state while the lock is held and the others were requested; they are granted afterwards. */
async function stateWith(name, mode, waiting) {
  const requests = []
  const state = await locks.request(name, { mode }, async () => {
    for (const next of waiting) requests.push(locks.request(name, { mode: next }, () => {}))
    return locks.query()
  })
  await Promise.all(requests)
  return state
}

promise_test(async (t) => {
  const state = await stateWith(uniqueName(t), 'exclusive', ['exclusive'])
  for (const list of ['pending', 'held']) {
    assert_own_property(state, list)
    assert_true(Array.isArray(state[list]))
    for (const property of ['name', 'mode', 'clientId']) {
      assert_own_property(state[list][0], property)
      assert_equals(typeof state[list][0][property], 'string')
    }
  }
}, 'query() returns dictionaries with expected properties')

promise_test(async (t) => {
  const name = uniqueName(t)
  for (const mode of ['exclusive', 'shared'])
    assert_array_equals(of((await stateWith(name, mode, [])).held, name, 'mode'), [mode])
}, 'query() reports individual held locks')

promise_test(async (t) => {
  const [one, two] = [uniqueName(t), uniqueName(t)]
  const { held } = await locks.request(one, () => locks.request(two, { mode: 'shared' }, () => locks.query()))
  assert_array_equals(of(held, one, 'mode'), ['exclusive'])
  assert_array_equals(of(held, two, 'mode'), ['shared'])
}, 'query() reports multiple held locks')

promise_test(async (t) => {
  const name = uniqueName(t)
  const { held, pending } = await stateWith(name, 'exclusive', ['exclusive'])
  assert_array_equals(of(pending, name, 'mode'), ['exclusive'])
  assert_array_equals(of(held, name, 'mode'), ['exclusive'])
}, 'query() reports pending and held locks')

promise_test(async (t) => {
  const name = uniqueName(t)
  const { held, pending } = await locks.request(name, { mode: 'shared' }, () => stateWith(name, 'shared', []))
  assert_array_equals(of(held, name, 'mode'), ['shared', 'shared'])
  assert_array_equals(of(pending, name, 'mode'), [])
}, 'query() reports held shared locks with appropriate count')

promise_test(async (t) => {
  const name = uniqueName(t)
  for (const mode of ['shared', 'shared', 'exclusive', 'shared']) requestLockAndHold(t, name, { mode })
  const { held, pending } = await locks.query()
  assert_array_equals(of(held, name, 'mode'), ['shared', 'shared'])
  assert_array_equals(of(pending, name, 'mode'), ['exclusive', 'shared'])
}, 'query() includes what was requested before it in the same turn')

promise_test(async (t) => {
  const name = uniqueName(t)
  const { held, pending } = await stateWith(name, 'exclusive', ['shared', 'shared'])
  assert_array_equals(of(held, name, 'mode'), ['exclusive'])
  assert_array_equals(of(pending, name, 'mode'), ['shared', 'shared'])
}, 'query() reports pending shared locks with appropriate count')

promise_test(async (t) => {
  const [one, two] = [uniqueName(t), uniqueName(t)]
  const { held } = await locks.request(one, () => locks.request(two, () => locks.query()))
  assert_equals(of(held, one, 'clientId').length, 1)
  assert_array_equals(of(held, one, 'clientId'), of(held, two, 'clientId'))
}, 'query() reports the same clientId for held locks from the same context')

promise_test(async (t) => {
  const name = uniqueName(t)
  const worker = new Worker('resources/worker.js')
  t.add_cleanup(() => worker.terminate())
  await postToWorkerAndWait(worker, { op: 'request', name, mode: 'shared' })
  const { held } = await stateWith(name, 'shared', [])
  const clients = of(held, name, 'clientId')
  assert_equals(clients.length, 2)
  assert_not_equals(clients[0], clients[1])
}, 'query() reports different ids for held locks from different contexts')

promise_test(async (t) => {
  const [one, two] = [uniqueName(t), uniqueName(t)]
  const worker = new Worker('resources/worker.js')
  t.add_cleanup(() => worker.terminate())
  await postToWorkerAndWait(worker, { op: 'request', name: one })
  const granted = Promise.withResolvers()
  const [holding, release] = makePromiseAndResolveFunc()
  const ours = locks.request(two, () => {
    granted.resolve()
    return holding
  })
  await granted.promise
  const theirs = postToWorkerAndWait(worker, { op: 'request', name: two })
  const refused = { op: 'request', name: two, ifAvailable: true }
  assert_true((await postToWorkerAndWait(worker, refused)).failed)
  const controller = new AbortController()
  const waits = locks.request(one, { signal: controller.signal }, t.unreached_func('held by the worker'))
  waits.catch(() => {})
  const { held, pending } = await locks.query()
  for (const list of [held, pending])
    for (const name of [one, two]) assert_equals(of(list, name, 'clientId').length, 1)
  assert_equals(of(held, one, 'clientId')[0], of(pending, two, 'clientId')[0])
  assert_equals(of(held, two, 'clientId')[0], of(pending, one, 'clientId')[0])
  controller.abort()
  release()
  await Promise.all([ours, theirs])
}, 'query() can observe a deadlock')
