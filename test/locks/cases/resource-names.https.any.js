const { locks } = navigator

const unitsOf = (name) =>
  Array.from({ length: name.length }, (_, n) => name.charCodeAt(n).toString(16)).join(' ')

const NAMES = [
  '',
  'abc\x00def',
  '\uD800',
  '\uDC00',
  '\uDC00\uD800',
  '\uFFFF',
  '\x7f\x80\x9f\r\n\t',
  ' ',
  '%',
  '%0025',
  '😀',
  'e\u0301',
  '\u00e9',
  '\u0301',
  '\u212b',
  '../a/b:c*{d}[e]|f',
  'x'.repeat(505),
  'é'.repeat(300),
  'x'.repeat(100_000),
]

for (const name of NAMES)
  promise_test(
    async () => {
      assert_equals(await locks.request(name, (lock) => lock.name), name)
    },
    `DOMString: ${name.length > 20 ? `${name.length} units` : unitsOf(name)}`,
  )

promise_test(async () => {
  for (const name of NAMES) {
    const { held } = await locks.request(name, () => locks.query())
    assert_true(
      held.some((lock) => lock.name === name),
      unitsOf(name.slice(0, 20)),
    )
  }
}, 'query() reports the names as they were requested')

promise_test(async () => {
  const names = [...NAMES, '\uFFFD', 'x'.repeat(504), `${'x'.repeat(99_999)}y`, '%e9', '\u00c5', 'E\u0301']
  const granted = Promise.withResolvers()
  let count = 0
  const hold = (lock) => {
    if (lock && ++count === names.length) granted.resolve()
    return granted.promise
  }
  await Promise.all(names.map((name) => locks.request(name, hold)))
  assert_equals(count, names.length)
}, 'Resource names that are not valid UTF-16 are not mangled')

promise_test(async (t) => {
  for (const name of ['-', '-foo'])
    await promise_rejects_dom(t, 'NotSupportedError', locks.request(name, t.unreached_func(name)))
  assert_equals(await locks.request('x-anything', (lock) => lock.name), 'x-anything')
}, 'Names cannot start with "-"')

promise_test(async () => {
  for (const [given, name] of [
    [null, 'null'],
    [undefined, 'undefined'],
    [12, '12'],
    [{ toString: () => 'text' }, 'text'],
  ])
    assert_equals(await locks.request(given, (lock) => lock.name), name)
}, 'Names are converted to strings')
