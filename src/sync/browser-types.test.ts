/// <reference types="chrome" />
import { browser } from '@wxt-dev/browser'
import { describe, expectTypeOf, it } from 'vitest'
import { type ChromeApi, chromeContext, chromeMessenger, chromeStorage } from './index.ts'

describe('the api of an extension', () => {
  it('may be `browser` of WXT', () => {
    expectTypeOf(browser).toExtend<ChromeApi>()
    expectTypeOf(chromeContext).toBeCallableWith({ api: browser, area: 'local' })
    expectTypeOf(chromeMessenger).toBeCallableWith({ api: browser })
    expectTypeOf(chromeStorage).toBeCallableWith('sync', browser)
  })

  it('may be `chrome` of @types/chrome', () => {
    expectTypeOf<typeof chrome>().toExtend<ChromeApi>()
  })
})
