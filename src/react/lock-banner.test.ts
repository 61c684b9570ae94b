import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it, vi } from 'vitest'
import { INITIAL_STATE } from '../client/index.ts'
import { LeaseError, type LeaseErrorCode } from '../core/index.ts'
import { LockBanner, type LockBannerProps } from './lock-banner.tsx'

const REASON = 'the server answered 413: a body may have 1048576 bytes here'
const LATIN_WORD = /[a-z]{2,}/i

/** What the banner says of an error, and what only stands behind it. */
function alertOf(code: LeaseErrorCode, props: Pick<LockBannerProps, 'lang' | 'texts'>) {
  const state = { ...INITIAL_STATE, phase: 'error' as const, error: new LeaseError(code, REASON) }
  const markup = renderToStaticMarkup(createElement(LockBanner, { state, lock: null, ...props }))
  const [, title, text = ''] = /<p role="alert" title="([^"]*)">([^<]*)<\/p>/.exec(markup) ?? []
  return { title, text }
}

describe('an error of the lock', () => {
  it.each([
    ['store-unavailable', 'en', 'The server does not answer now. Try again in a moment.'],
    ['store-failed', 'en', /^You cannot edit this document\./],
    ['store-unavailable', 'ja', /^いまサーバーにつながりません。/],
    ['store-failed', 'ja', /^この文書は編集できません。/],
  ] as const)('%s is told in plain words (%s), with the technical ones behind them', (code, lang, words) => {
    const { title, text } = alertOf(code, { lang })
    expect(text).toMatch(words)
    expect(text).not.toMatch(lang === 'ja' ? LATIN_WORD : /413|bytes/)
    expect(title).toBe(REASON)
  })

  it('is told in the words of the page, if it has its own', () => {
    const failed = vi.fn((reason: string) => `Sorry: ${reason}`)
    expect(alertOf('store-failed', { texts: { failed } }).text).toBe(`Sorry: ${REASON}`)
    expect(failed).toHaveBeenCalledWith(REASON, 'store-failed')
  })
})
