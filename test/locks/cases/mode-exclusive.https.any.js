const { locks } = navigator

promise_test(async (t) => {
  const name = uniqueName(t)
  const granted = []
  await Promise.all([1, 2, 3].map((n) => locks.request(name, () => granted.push(n))))
  assert_array_equals(granted, [1, 2, 3])
}, 'Lock requests are granted in order')

promise_test(async (t) => {
  const [a, b] = [uniqueName(t), uniqueName(t)]
  const granted = []
  let inner
  await locks.request(a, async () => {
    inner = [locks.request(a, () => granted.push('blocked')), locks.request(b, () => granted.push('free'))]
  })
  await Promise.all(inner)
  assert_array_equals(granted, ['free', 'blocked'])
}, 'Requests for distinct resources can be granted')
