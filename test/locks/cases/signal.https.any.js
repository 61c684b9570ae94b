const { locks } = navigator

promise_test(async (t) => {
  for (const signal of ['string', 12.34, false, null, {}, Symbol('signal'), () => {}, self])
    await promise_rejects_js(
      t,
      TypeError,
      locks.request(uniqueName(t), { signal }, t.unreached_func('signal')),
    )
}, 'The signal option must be an AbortSignal')

promise_test(async (t) => {
  const request = locks.request(uniqueName(t), { signal: AbortSignal.abort() }, t.unreached_func('aborted'))
  await promise_rejects_dom(t, 'AbortError', request)
}, 'Passing an already aborted signal aborts')

promise_test(async (t) => {
  const signal = AbortSignal.abort('the user left')
  const request = locks.request(uniqueName(t), { signal }, t.unreached_func('aborted'))
  await promise_rejects_exactly(t, 'the user left', request)
}, 'Passing an already aborted signal rejects with the custom abort reason.')

promise_test(async (t) => {
  const signal = AbortSignal.abort()
  const request = locks.request(uniqueName(t), { signal }, t.unreached_func('aborted'))
  await promise_rejects_exactly(t, signal.reason, request)
}, 'Passing an already aborted signal rejects with the default abort reason.')

/** A request that waits for a lock that is held. */
async function waiting(t) {
  const name = uniqueName(t)
  requestLockAndHold(t, name)
  const controller = new AbortController()
  const request = locks.request(name, { signal: controller.signal }, t.unreached_func('held'))
  const count = (list) => list.filter((lock) => lock.name === name).length
  const { held, pending } = await locks.query()
  assert_equals(count(held), 1, 'held')
  assert_equals(count(pending), 1, 'pending')
  return { controller, request: () => request }
}

promise_test(async (t) => {
  const { controller, request } = await waiting(t)
  const rejected = promise_rejects_dom(t, 'AbortError', request())
  controller.abort()
  await rejected
}, 'An aborted request results in AbortError')

promise_test(async (t) => {
  const { controller, request } = await waiting(t)
  let isTimeUp = false
  t.step_timeout(() => {
    isTimeUp = true
    controller.abort()
  }, 10)
  await promise_rejects_dom(t, 'AbortError', request())
  assert_true(isTimeUp)
}, 'Abort after a timeout')

promise_test(async (t) => {
  const { signal } = new AbortController()
  assert_equals(await locks.request(uniqueName(t), { signal }, async () => 'granted'), 'granted')
}, 'Signal that is not aborted')

promise_test(async (t) => {
  const name = uniqueName(t)
  const controller = new AbortController()
  const request = locks.request(name, { signal: controller.signal }, t.unreached_func('aborted'))
  controller.abort()
  await promise_rejects_dom(t, 'AbortError', request)
  assert_equals(await locks.request(name, () => 'granted'), 'granted')
}, 'Synchronously signaled abort')

for (const when of ['granted', 'released'])
  promise_test(async (t) => {
    const controller = new AbortController()
    const granted = Promise.withResolvers()
    const work = Promise.withResolvers()
    const request = locks.request(uniqueName(t), { signal: controller.signal }, () => {
      granted.resolve()
      return work.promise
    })
    await granted.promise
    if (when === 'granted') controller.abort()
    work.resolve('the result')
    if (when === 'released') controller.abort()
    assert_equals(await request, 'the result')
  }, `Abort signaled after lock ${when}`)

promise_test(async (t) => {
  const name = uniqueName(t)
  const first = new AbortController()
  const aborted = promise_rejects_dom(t, 'AbortError', requestLockAndHold(t, name, { signal: first.signal }))
  const modes = ['exclusive', 'shared', 'shared']
  const behind = modes.map((mode) => locks.request(name, { mode }, (lock) => lock.mode))
  first.abort()
  await aborted
  assert_array_equals(await Promise.all(behind), modes)
}, 'Abort should process the next pending lock request')

promise_test(async (t) => {
  const name = uniqueName(t)
  const controller = new AbortController()
  requestLockAndHold(t, name, { mode: 'shared' })
  const writer = locks.request(name, { signal: controller.signal }, t.unreached_func('aborted'))
  const reader = locks.request(name, { mode: 'shared' }, () => 'read')
  const rejected = promise_rejects_exactly(t, 'enough', writer)
  await locks.query()
  controller.abort('enough')
  await rejected
  assert_equals(await reader, 'read')
}, 'Abort of a waiting exclusive request lets the shared ones behind it pass')

for (const reason of ['somebody else does it', undefined])
  promise_test(
    async (t) => {
      const controller = new AbortController()
      const request = requestLockAndHold(t, uniqueName(t), { signal: controller.signal })
      controller.abort(reason)
      await promise_rejects_exactly(t, reason ?? controller.signal.reason, request)
    },
    `Aborted promise should reject with the ${reason ? 'custom' : 'default'} abort reason`,
  )
