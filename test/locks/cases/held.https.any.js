const { locks } = navigator

promise_test(async (t) => {
  const returned = locks.request(uniqueName(t), () => 123)
  assert_equals(Promise.resolve(returned), returned)
  assert_equals(await returned, 123)
}, "callback's result is promisified if not async")

promise_test(async (t) => {
  const thenable = Object.defineProperty({}, 'then', { value: (resolve) => resolve('settled') })
  assert_equals(await locks.request(uniqueName(t), () => thenable), 'settled')
}, "callback's result may be a thenable")

for (const how of ['resolves', 'rejects'])
  promise_test(async (t) => {
    const name = uniqueName(t)
    const order = []
    const work = Promise.withResolvers()
    const granted = Promise.withResolvers()
    const first = locks.request(name, () => {
      granted.resolve()
      return work.promise
    })
    first.catch(() => {})
    await granted.promise
    const second = locks.request(name, () => order.push('2nd lock granted'))
    t.step_timeout(() => {
      order.push('1st lock released')
      if (how === 'resolves') work.resolve()
      else work.reject(new Error('expected'))
    }, 10)
    await second
    assert_array_equals(order, ['1st lock released', '2nd lock granted'])
  }, `lock is held until callback's returned promise ${how}`)

promise_test(async (t) => {
  const name = uniqueName(t)
  const inner = await locks.request(name, () =>
    locks.request(name, { ifAvailable: true }, (lock) => ['called with', lock]),
  )
  assert_array_equals(inner, ['called with', null])
}, 'held lock prevents the same client from acquiring it')
