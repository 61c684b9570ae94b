const { locks } = navigator

const modesOf = (list, name) => list.filter((lock) => lock.name === name).map((lock) => lock.mode)

promise_test(async (t) => {
  const [a, b] = [uniqueName(t), uniqueName(t)]
  const [blocked, unblock] = makePromiseAndResolveFunc()
  const granted = []
  const readers = [1, 2, 3].map((n) =>
    locks.request(a, { mode: 'shared' }, () => {
      granted.push(`a-shared-${n}`)
      return blocked
    }),
  )
  const writer = locks.request(a, (lock) => {
    granted.push('a-exclusive')
    return lock.mode
  })
  await locks.request(b, () => granted.push('b-exclusive'))
  const first = ['a-shared-1', 'a-shared-2', 'a-shared-3', 'b-exclusive']
  assert_array_equals(granted, first)
  unblock()
  assert_equals(await writer, 'exclusive')
  assert_array_equals(granted, [...first, 'a-exclusive'])
  await Promise.all(readers)
}, 'Lock requests are granted in order')

promise_test(async (t) => {
  const name = uniqueName(t)
  const [held, release] = makePromiseAndResolveFunc()
  const writer = locks.request(name, () => held)
  for (let n = 0; n < 5; n++) requestLockAndHold(t, name, { mode: 'shared' })
  const before = await locks.query()
  assert_array_equals(modesOf(before.held, name), ['exclusive'])
  assert_array_equals(modesOf(before.pending, name), Array(5).fill('shared'))
  release()
  await writer
  const after = await locks.query()
  assert_array_equals(modesOf(after.held, name), Array(5).fill('shared'))
  assert_array_equals(modesOf(after.pending, name), [])
}, 'Releasing exclusive lock grants multiple shared locks')

promise_test(async (t) => {
  const name = uniqueName(t)
  const [reading, endReading] = makePromiseAndResolveFunc()
  const [writing, endWriting] = makePromiseAndResolveFunc()
  const readers = Array.from({ length: 5 }, () => locks.request(name, { mode: 'shared' }, () => reading))
  const writer = locks.request(name, () => writing)
  for (let n = 0; n < 5; n++) requestLockAndHold(t, name, { mode: 'shared' })
  const held = async () => modesOf((await locks.query()).held, name)
  assert_array_equals(await held(), Array(5).fill('shared'))
  endReading()
  await Promise.all(readers)
  assert_array_equals(await held(), ['exclusive'])
  endWriting()
  await writer
  assert_array_equals(await held(), Array(5).fill('shared'))
}, 'An exclusive lock between shared locks')

promise_test(async (t) => {
  const name = uniqueName(t)
  const modes = ['shared', 'exclusive', 'shared', 'shared', 'exclusive', 'exclusive', 'shared']
  const granted = []
  await Promise.all(modes.map((mode, n) => locks.request(name, { mode }, () => granted.push(n))))
  // Shared requests that waited are granted together.
  if (granted[2] === 3) granted.splice(2, 2, 2, 3)
  assert_array_equals(granted, [...modes.keys()])
}, 'A shared request does not overtake an exclusive one that waits')
