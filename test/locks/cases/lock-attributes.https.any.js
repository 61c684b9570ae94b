const { locks } = navigator

for (const mode of ['exclusive', 'shared'])
  promise_test(async (t) => {
    const name = uniqueName(t)
    const lock = await locks.request(name, { mode }, (granted) => granted)
    assert_equals(lock.name, name)
    assert_equals(lock.mode, mode)
  }, `Lock attributes reflect requested properties (${mode})`)

promise_test(async (t) => {
  const lock = await locks.request(uniqueName(t), (granted) => granted)
  assert_equals(lock.mode, 'exclusive')
}, 'Lock mode is exclusive by default')
