const { locks } = navigator
const nothing = () => {}

promise_test(async (t) => {
  await promise_rejects_js(t, TypeError, locks.request())
  await promise_rejects_js(t, TypeError, locks.request(uniqueName(t)))
  await promise_rejects_js(t, TypeError, locks.request(Symbol('name'), nothing))
}, 'navigator.locks.request requires a name and a callback')

promise_test(async (t) => {
  const name = uniqueName(t)
  for (const mode of ['foo', null, 'Exclusive', 1, Symbol('shared')])
    await promise_rejects_js(t, TypeError, locks.request(name, { mode }, nothing))
  for (const mode of ['exclusive', 'shared'])
    assert_equals(await locks.request(name, { mode }, (lock) => lock.mode), mode)
  assert_equals(await locks.request(name, { mode: undefined }, (lock) => lock.mode), 'exclusive')
}, 'mode must be "shared" or "exclusive"')

promise_test(async (t) => {
  const both = locks.request(uniqueName(t), { steal: true, ifAvailable: true }, nothing)
  await promise_rejects_dom(t, 'NotSupportedError', both)
}, "The 'steal' and 'ifAvailable' options are mutually exclusive")

promise_test(async (t) => {
  const shared = locks.request(uniqueName(t), { mode: 'shared', steal: true }, nothing)
  await promise_rejects_dom(t, 'NotSupportedError', shared)
}, "The 'steal' option must be used with exclusive locks")

for (const option of ['steal', 'ifAvailable'])
  promise_test(async (t) => {
    const { signal } = new AbortController()
    const both = locks.request(uniqueName(t), { signal, [option]: true }, nothing)
    await promise_rejects_dom(t, 'NotSupportedError', both)
  }, `The 'signal' and '${option}' options are mutually exclusive`)

promise_test(async (t) => {
  const name = uniqueName(t)
  for (const callback of [undefined, null, 123, 'abc', [], {}, new Promise(nothing)]) {
    await promise_rejects_js(t, TypeError, locks.request(name, callback))
    await promise_rejects_js(t, TypeError, locks.request(name, {}, callback))
  }
}, 'callback must be a function')

promise_test(async (t) => {
  const name = uniqueName(t)
  for (const options of [undefined, null, {}, nothing])
    assert_equals(await locks.request(name, options, (lock) => lock.mode), 'exclusive')
  for (const options of [123, 'abc', true, Symbol('options')])
    await promise_rejects_js(t, TypeError, locks.request(name, options, nothing))
}, 'options must be an object, null or undefined')

promise_test(async (t) => {
  const { signal } = new AbortController()
  // Each check wins over those after it.
  const wrong = { mode: 'foo', steal: true, ifAvailable: true, signal }
  await promise_rejects_js(t, TypeError, locks.request('-', wrong, nothing))
  await promise_rejects_js(t, TypeError, locks.request('-', { steal: true, ifAvailable: true }, null))
  const aborted = { signal: AbortSignal.abort('too late'), steal: true }
  await promise_rejects_dom(t, 'NotSupportedError', locks.request(uniqueName(t), aborted, nothing))
  await promise_rejects_dom(t, 'NotSupportedError', locks.request('-', { signal: aborted.signal }, nothing))
}, 'Arguments are converted first, then checked, and a signal is looked at last')

promise_test(async (t) => {
  const read = []
  const options = new Proxy({}, { get: (_, name) => void read.push(name) })
  await locks.request(uniqueName(t), options, nothing)
  assert_array_equals(read, ['ifAvailable', 'mode', 'signal', 'steal'])
}, 'Each option is read once, in the order of its name')

promise_test(async (t) => {
  const [held, release] = makePromiseAndResolveFunc()
  const order = []
  const returned = locks.request(uniqueName(t), () => held)
  returned.then(() => order.push('returned'))
  held.then(() => order.push('holding'))
  release()
  await returned
  assert_array_equals(order, ['holding', 'returned'])
}, "navigator.locks.request's returned promise resolves after lock is released")

const thrown = { name: 'test' }
const throwing = {
  'callback throws synchronously': () => {
    throw thrown
  },
  'callback throws asynchronously': async () => {
    throw thrown
  },
}
for (const [how, callback] of Object.entries(throwing))
  promise_test(async (t) => {
    const returned = locks.request(uniqueName(t), callback)
    assert_equals(Promise.resolve(returned), returned)
    await promise_rejects_exactly(t, thrown, returned)
  }, `Returned Promise rejects if ${how}`)

promise_test(async (t) => {
  let isCalled = false
  const thenable = Object.defineProperty({}, 'then', { value: () => (isCalled = true) })
  const returned = locks.request(uniqueName(t), async () => {
    throw thenable
  })
  await promise_rejects_exactly(t, thenable, returned)
  assert_false(isCalled)
}, 'If callback throws a thenable, its then() should not be invoked')
