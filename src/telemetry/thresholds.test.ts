import { describe, expect, it } from 'vitest'
import { DEFAULT_THRESHOLDS, makeThresholds } from './thresholds.ts'

it('the check of thresholds fills in what a configuration leaves out', () => {
  const given = {
    clear_after: 3,
    rules: { readonly: { above: 0.5 }, success_rate: { severity: 'rollback' } },
  }
  expect(makeThresholds(given)).toEqual({
    ...DEFAULT_THRESHOLDS,
    clear_after: 3,
    rules: {
      ...DEFAULT_THRESHOLDS.rules,
      readonly: { above: 0.5, samples: 20, severity: 'rollback' },
      success_rate: { below: 0.9, samples: 20, severity: 'rollback' },
    },
  })
  expect(makeThresholds({})).toEqual(DEFAULT_THRESHOLDS)
})

it.each([2000, '2000', '2s', '2000ms'])('the check of thresholds takes %j as a bound for a time', (above) => {
  const { rules } = makeThresholds({ rules: { wait_p95_ms: { above } } })
  expect(rules.wait_p95_ms).toEqual({ above: 2000, samples: 20, severity: 'warn' })
})

it('the check of thresholds accepts its own result', () => {
  expect(makeThresholds(makeThresholds({ enter_after: 2 }))).toEqual({
    ...DEFAULT_THRESHOLDS,
    enter_after: 2,
  })
})

describe('invalid thresholds', () => {
  const names = 'one of rules, enter_after, clear_after, clear_at'
  it.each([
    [[], 'thresholds: expected an object, got an array'],
    [null, 'thresholds: expected an object, got null'],
    [Symbol('s'), 'thresholds: expected an object, got Symbol(s)'],
    [{ enter_after: 0 }, 'enter_after: expected a whole number from 1, got 0'],
    [{ clear_after: 'two' }, 'clear_after: expected a whole number from 1, got "two"'],
    [{ clear_after: 2n }, 'clear_after: expected a whole number from 1, got 2n'],
    [{ clear_at: 1.5 }, 'clear_at: expected a number above 0 and up to 1, got 1.5'],
    [{ clear_at: 1n }, 'clear_at: expected a number above 0 and up to 1, got 1n'],
    [{ clear_at: '0.5' }, 'clear_at: expected a number above 0 and up to 1, got "0.5"'],
    [{ typo: 1 }, `typo: expected ${names}, got "typo"`],
    [{ toString: 1 }, `toString: expected ${names}, got "toString"`],
    [JSON.parse('{ "__proto__": {} }'), `__proto__: expected ${names}, got "__proto__"`],
    [{ rules: 5 }, 'rules: expected an object, got 5'],
    [{ rules: { typo: {} } }, 'rules.typo: expected one of retryable_false, readonly'],
    [{ rules: { constructor: {} } }, 'rules.constructor: expected one of retryable_false, readonly'],
    [{ rules: { readonly: 5 } }, 'rules.readonly: expected an object, got 5'],
    [
      { rules: { readonly: { below: 5 } } },
      'rules.readonly.below: expected one of above, samples, severity, got "below"',
    ],
    [{ rules: { readonly: { above: '5' } } }, 'rules.readonly.above: expected a share from 0 to 1, got "5"'],
    [{ rules: { readonly: { above: 5n } } }, 'rules.readonly.above: expected a share from 0 to 1, got 5n'],
    [
      { rules: { readonly: { samples: -1 } } },
      'rules.readonly.samples: expected a whole number from 0, got -1',
    ],
    [
      { rules: { readonly: { severity: 'page' } } },
      'rules.readonly.severity: expected "rollback" or "warn" or "off", got "page"',
    ],
    [
      { rules: { retryable_false: { above: 5 } } },
      'rules.retryable_false.above: expected a share from 0 to 1, got 5',
    ],
    [{ rules: { wait_p95_ms: { above: 'soon' } } }, 'rules.wait_p95_ms.above: expected whole milliseconds'],
  ])('case %#: %o', (config, message) => {
    const make = () => makeThresholds(config)
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
  })
})
