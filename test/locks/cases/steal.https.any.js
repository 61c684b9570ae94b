const { locks } = navigator

const never = new Promise(() => {})
const isGranted = (lock) => lock !== null

promise_test(async (t) => {
  assert_true(await locks.request(uniqueName(t), { steal: true }, isGranted))
}, 'Lock available')

promise_test(async (t) => {
  const name = uniqueName(t)
  locks.request(name, () => never).catch(() => {})
  assert_true(await locks.request(name, { steal: true }, isGranted))
}, 'Lock not available')

promise_test(async (t) => {
  const name = uniqueName(t)
  const broken = promise_rejects_dom(
    t,
    'AbortError',
    locks.request(name, () => never),
  )
  await locks.request(name, { steal: true }, () => {})
  await broken
}, `Broken lock's release promise rejects`)

promise_test(async (t) => {
  const name = uniqueName(t)
  locks.request(name, () => never).catch(() => {})
  let isRequestGranted = false
  const waiting = locks.request(name, () => {
    isRequestGranted = true
  })
  await locks.request(name, { steal: true }, () => assert_false(isRequestGranted))
  await waiting
  assert_true(isRequestGranted)
}, `Requested lock's release promise is deferred`)

promise_test(async (t) => {
  const name = uniqueName(t)
  locks.request(name, () => never).catch(() => {})
  const first = promise_rejects_dom(
    t,
    'AbortError',
    locks.request(name, { steal: true }, () => never),
  )
  await locks.request(name, { steal: true }, () => {})
  await first
}, 'Last caller wins')

promise_test(async (t) => {
  const name = uniqueName(t)
  const readers = [1, 2, 3].map(() => locks.request(name, { mode: 'shared' }, () => never))
  const broken = readers.map((reader) => promise_rejects_dom(t, 'AbortError', reader))
  const { held } = await locks.request(name, { steal: true }, () => locks.query())
  assert_array_equals(
    held.filter((lock) => lock.name === name).map((lock) => lock.mode),
    ['exclusive'],
  )
  await Promise.all(broken)
}, 'Steal breaks every shared lock')

promise_test(async (t) => {
  const name = uniqueName(t)
  const [work, finish] = makePromiseAndResolveFunc()
  const granted = Promise.withResolvers()
  let isFinished = false
  const broken = locks.request(name, async () => {
    granted.resolve()
    await work
    isFinished = true
    throw new Error('nobody hears of it')
  })
  await granted.promise
  const thief = locks.request(name, { steal: true }, async () => {
    await promise_rejects_dom(t, 'AbortError', broken)
    assert_false(isFinished)
    finish()
    await work
    const { held } = await locks.query()
    assert_equals(held.filter((lock) => lock.name === name).length, 1)
  })
  await thief
  assert_true(isFinished)
}, 'A broken request rejects at once, and its callback continues')
