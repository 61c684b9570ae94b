const { locks } = navigator

promise_test(async (t) => {
  const names = ['a', 'b', 'c'].map((prefix) => uniqueName(t, prefix))
  const granted = []
  const requests = [...names, ...names].map((name, n) =>
    locks.request(name, { mode: 'shared' }, () => granted.push(n)),
  )
  await Promise.all(requests)
  assert_array_equals(granted, [0, 1, 2, 3, 4, 5])
}, 'Lock requests are granted in order')

promise_test(async (t) => {
  const name = uniqueName(t)
  const both = await locks.request(name, { mode: 'shared' }, (outer) =>
    locks.request(name, { mode: 'shared' }, (inner) => [outer.mode, inner.mode]),
  )
  assert_array_equals(both, ['shared', 'shared'])
}, 'Shared locks are not exclusive')
