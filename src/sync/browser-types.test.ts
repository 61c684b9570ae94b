/// <reference types="chrome" />
// The main file of the package finds this one only with the module resolution of bundlers; here it would be `any`.
import type { Browser } from '@wxt-dev/browser/src/gen/index.js'
import { describe, expectTypeOf, it } from 'vitest'
import { type ChromeApi, chromeContext, chromeMessenger, chromeStorage } from './index.ts'

declare const browser: typeof Browser

describe('the api of an extension', () => {
  it('the api of an extension may be `browser` of WXT', () => {
    expectTypeOf<typeof browser>().not.toBeAny()
    expectTypeOf<typeof browser>().toExtend<ChromeApi>()
    const callers = () => [
      chromeContext({ api: browser, area: 'local' }),
      chromeMessenger({ api: browser }),
      chromeStorage('sync', browser),
    ]
    expectTypeOf(callers).toBeFunction()
  })

  it('the api of an extension may be `chrome` of @types/chrome', () => {
    expectTypeOf<typeof chrome>().toExtend<ChromeApi>()
  })
})
