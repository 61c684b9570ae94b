promise_test(async () => {
  const state = await navigator.locks.query()
  for (const list of ['held', 'pending']) {
    assert_own_property(state, list)
    assert_true(Array.isArray(state[list]))
    assert_array_equals(state[list], [])
  }
}, 'query() returns dictionary with empty arrays when no locks are held')
