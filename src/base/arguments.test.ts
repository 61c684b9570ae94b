import { describe, expect, it } from 'vitest'
import {
  expectFunction,
  expectMethods,
  expectObject,
  expectOneOf,
  expectOptions,
  expectText,
  expectWhole,
  hasMethods,
  refuse,
  refuseClient,
  show,
} from './arguments.ts'
import { expectDuration } from './duration.ts'
import { LeaseError } from './errors.ts'

class Redis {}
class Ardent {}
const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('no')
    },
  },
)

describe('a value in a message', () => {
  it.each([
    ['text', '"text"'],
    ['x'.repeat(100), `"${'x'.repeat(60)}…"`],
    [5, '5'],
    [-0.5, '-0.5'],
    [Number.NaN, 'NaN'],
    [10n, '10n'],
    [true, 'true'],
    [null, 'null'],
    [undefined, 'undefined'],
    [Symbol('s'), 'Symbol(s)'],
    [() => {}, 'a function'],
    [[1], 'an array'],
    [{ a: 1 }, 'an object'],
    [Object.create(null), 'an object'],
    [{ constructor: 5 }, 'an object'],
    [{ constructor: { name: 5 } }, 'an object'],
    [hostile, 'an object'],
    [new Redis(), 'a Redis'],
    [new Ardent(), 'an Ardent'],
    [new Map(), 'a Map'],
  ])('a value in a message is shown, whatever it is: %#', (value, shown) => {
    expect(show(value)).toBe(shown)
  })
})

describe('a refusal', () => {
  it('a refusal names the option, the expected and the received value', () => {
    expect(() => refuse('ttl', 'a number', 10n)).toThrow(
      new LeaseError('invalid-argument', 'ttl: expected a number, got 10n'),
    )
  })

  it('a refusal does not show the address of a client, which may contain a password', () => {
    expect(() => refuseClient('client', 'a Pool', 'postgres://me:secret@host')).toThrow(
      'client: expected a Pool, got a string',
    )
  })
})

describe('a check', () => {
  it.each([
    ['object', () => expectObject('o', []), 'o: expected an object, got an array'],
    ['function', () => expectFunction('f', {}), 'f: expected a function, got an object'],
    ['text', () => expectText('t', ''), 't: expected a non-empty string, got ""'],
    ['whole', () => expectWhole('w', 1.5, 1), 'w: expected a whole number from 1, got 1.5'],
    ['exact', () => expectWhole('w', 2 ** 53, 1), 'w: expected a whole number from 1, got 9007199254740992'],
    ['range', () => expectWhole('w', 11, 1, 10), 'w: expected a whole number from 1 to 10, got 11'],
    ['choice', () => expectOneOf('c', 'x', ['a', 'b']), 'c: expected "a" or "b", got "x"'],
    [
      'port',
      () => expectMethods('p', { get() {} }, 'a Storage', 'get', 'set'),
      'p: expected a Storage (with get, set), got an object',
    ],
    [
      'duration',
      () => expectDuration('d', '1 week', 0, 10),
      `d: expected whole milliseconds from 0 to 10, or text such as '30s', got "1 week"`,
    ],
  ])('a check of %s', (_, check, message) => {
    expect(check).toThrow(new LeaseError('invalid-argument', message))
  })

  it('a check passes what is valid', () => {
    expectObject('o', {})
    expectFunction('f', () => {})
    expectText('t', 'x')
    expectWhole('w', 1, 1, 1)
    expectOneOf('c', 'a', ['a', 'b'])
    expectMethods('p', new Map(), 'a Storage', 'get', 'set')
    expect(expectDuration('d', '1.5s', 0)).toBe(1500)
    expect(expectDuration('d', 20, 0)).toBe(20)
  })

  it.each([
    ['misspelt', { tll: 1 }, '`tll`: unknown option, did you mean `ttl`?'],
    ['unlike any other', { xyz: 1 }, '`xyz`: unknown option, expected one of ttl, wait'],
    ['given as undefined', { watt: undefined }, '`watt`: unknown option, did you mean `wait`?'],
  ])('a check of options refuses one that is %s', (_, options, message) => {
    expect(() => expectOptions(options as object, { ttl: 1, wait: 1 } as never)).toThrow(
      new LeaseError('invalid-argument', message),
    )
  })

  it('a check of options names where nested ones belong', () => {
    expect(() => expectOptions({ tll: 1 } as { ttl?: number }, { ttl: 1 }, 'retry.')).toThrow('`retry.tll`: ')
  })

  it('a check of options does not show an address in their place', () => {
    expect(() => expectOptions('redis://:secret@host' as never, {} as never)).toThrow(
      'options: expected an object, got a string',
    )
  })

  it('works for an object whose getters throw', () => {
    expect(hasMethods(hostile, 'get')).toBe(false)
  })
})
