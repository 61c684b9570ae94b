import { expect, it } from 'vitest'
import { DEFAULT_THRESHOLDS, makeThresholds } from './thresholds.ts'

it('fills what a configuration leaves out', () => {
  const given = { clear_after: 3, rules: { readonly: { above: 50 }, success_rate: { severity: 'rollback' } } }
  expect(makeThresholds(given)).toEqual({
    ...DEFAULT_THRESHOLDS,
    clear_after: 3,
    rules: {
      ...DEFAULT_THRESHOLDS.rules,
      readonly: { above: 50, severity: 'rollback' },
      success_rate: { below: 0.9, samples: 20, severity: 'rollback' },
    },
  })
  expect(makeThresholds({})).toEqual(DEFAULT_THRESHOLDS)
})

it.each([
  [[], 'thresholds: expected a table'],
  [null, 'thresholds: expected a table'],
  [{ enter_after: 0 }, 'enter_after: expected a whole number from 1, got 0'],
  [{ clear_after: 'two' }, 'clear_after: expected a whole number from 1, got "two"'],
  [{ clear_at: 1.5 }, 'clear_at: expected a share up to 1, got 1.5'],
  [{ typo: 1 }, 'typo: expected one of rules, enter_after'],
  [{ rules: { typo: {} } }, 'rules.typo: expected one of retryable_false'],
  [{ rules: { readonly: 5 } }, 'rules.readonly: expected a table, got 5'],
  [{ rules: { readonly: { below: 5 } } }, 'rules.readonly.below: expected above, samples or severity'],
  [{ rules: { readonly: { above: '5' } } }, 'rules.readonly.above: expected a number from 0, got "5"'],
  [{ rules: { readonly: { severity: 'page' } } }, 'rules.readonly.severity: expected rollback, warn or off'],
])('refuses %j', (config, message) => {
  expect(() => makeThresholds(config)).toThrow(message)
})
