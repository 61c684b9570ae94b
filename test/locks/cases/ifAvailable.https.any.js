const { locks } = navigator
const isGranted = (lock) => lock !== null

/** What the callback of a second request gets while the first one is held. */
function whileHeld(name, options, second, callback = isGranted) {
  return locks.request(name, options, () =>
    locks.request(second.name ?? name, { ifAvailable: true, mode: second.mode }, callback),
  )
}

promise_test(async (t) => {
  assert_true(await locks.request(uniqueName(t), { ifAvailable: true }, isGranted))
}, 'Lock request with ifAvailable - lock available')

promise_test(async (t) => {
  const returned = await whileHeld(uniqueName(t), {}, {}, async (lock) => (isGranted(lock) ? 'granted' : 123))
  assert_equals(returned, 123)
}, 'Lock request with ifAvailable - lock not available')

promise_test(async (t) => {
  const throwing = async (lock) => {
    throw isGranted(lock) ? 'granted' : 123
  }
  await promise_rejects_exactly(t, 123, whileHeld(uniqueName(t), {}, {}, throwing))
}, 'Lock request with ifAvailable - lock not available, callback throws')

promise_test(async (t) => {
  assert_true(await whileHeld(uniqueName(t), {}, { name: uniqueName(t) }))
}, 'Lock request with ifAvailable - unrelated lock held')

promise_test(async (t) => {
  assert_true(await whileHeld(uniqueName(t), { mode: 'shared' }, { mode: 'shared' }))
}, 'Shared lock request with ifAvailable - shared lock held')

promise_test(async (t) => {
  assert_false(await whileHeld(uniqueName(t), { mode: 'shared' }, { mode: 'exclusive' }))
}, 'Exclusive lock request with ifAvailable - shared lock held')

promise_test(async (t) => {
  assert_false(await whileHeld(uniqueName(t), { mode: 'exclusive' }, { mode: 'shared' }))
}, 'Shared lock request with ifAvailable - exclusive lock held')

promise_test(async (t) => {
  const thrown = { name: 'test' }
  const throwing = (lock) => {
    throw isGranted(lock) ? 'granted' : thrown
  }
  await promise_rejects_exactly(t, thrown, whileHeld(uniqueName(t), {}, {}, throwing))
}, 'Returned Promise rejects if callback throws synchronously')

promise_test(async (t) => {
  const thrown = { name: 'test' }
  const rejecting = (lock) => Promise.reject(isGranted(lock) ? 'granted' : thrown)
  await promise_rejects_exactly(t, thrown, whileHeld(uniqueName(t), {}, {}, rejecting))
}, 'Returned Promise rejects if async callback yields rejected promise')

promise_test(async (t) => {
  const name = uniqueName(t)
  const again = await locks.request(uniqueName(t), async () => {
    await locks.request(name, () => {})
    return locks.request(name, { ifAvailable: true }, isGranted)
  })
  assert_true(again)
}, 'Locks are available once previous release is processed')

promise_test(async (t) => {
  const name = uniqueName(t)
  const [held, release] = makePromiseAndResolveFunc()
  const reader = locks.request(name, { mode: 'shared' }, () => held)
  const beside = locks.request(name, { mode: 'shared', ifAvailable: true }, isGranted)
  const writer = locks.request(name, () => 'writer')
  const behind = locks.request(name, { mode: 'shared', ifAvailable: true }, isGranted)
  assert_array_equals(await Promise.all([beside, behind]), [true, false])
  release()
  assert_equals(await writer, 'writer')
  await reader
}, 'A request with ifAvailable looks at what was requested before it in the same turn')
