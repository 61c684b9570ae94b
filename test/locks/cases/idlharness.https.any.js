const { locks } = navigator

async function prototypes(t) {
  const lock = await locks.request(uniqueName(t), (granted) => granted)
  return { lock, ofLock: Object.getPrototypeOf(lock), ofManager: Object.getPrototypeOf(locks) }
}

promise_test(async (t) => {
  const { ofLock, ofManager } = await prototypes(t)
  assert_equals(String(locks), '[object LockManager]')
  assert_equals(String(await locks.request(uniqueName(t), (lock) => lock)), '[object Lock]')
  assert_equals(ofLock[Symbol.toStringTag], 'Lock')
  assert_equals(ofManager[Symbol.toStringTag], 'LockManager')
}, 'The objects name their interfaces')

promise_test(async (t) => {
  const { ofManager } = await prototypes(t)
  for (const [name, length] of Object.entries({ request: 2, query: 0 })) {
    const { value, enumerable } = Object.getOwnPropertyDescriptor(ofManager, name)
    assert_equals(typeof value, 'function')
    assert_equals(value.length, length)
    assert_equals(value.name, name)
    assert_true(enumerable)
    await promise_rejects_js(
      t,
      TypeError,
      value.call({}, 'name', () => {}),
    )
  }
}, 'LockManager interface: operations request and query')

promise_test(async (t) => {
  const { lock, ofLock } = await prototypes(t)
  for (const name of ['name', 'mode']) {
    const { get, set, enumerable } = Object.getOwnPropertyDescriptor(ofLock, name)
    assert_equals(get.call(lock), lock[name])
    assert_equals(set, undefined)
    assert_true(enumerable)
    assert_throws_js(TypeError, () => get.call({}))
    assert_false(Object.hasOwn(lock, name))
  }
}, 'Lock interface: readonly attributes name and mode')
