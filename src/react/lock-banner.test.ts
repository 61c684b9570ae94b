import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it, vi } from 'vitest'
import { type DocumentLockState, INITIAL_STATE } from '../client/index.ts'
import { LeaseError, type LeaseErrorCode } from '../core/index.ts'
import { LockBanner, type LockBannerProps } from './lock-banner.tsx'

const REASON = 'the server answered 413: a body may have 1048576 bytes here'
const LATIN_WORD = /[a-z]{2,}/i

function markupOf(
  change: Partial<DocumentLockState>,
  props?: Pick<LockBannerProps, 'lang' | 'texts'>,
): string {
  const state = { ...INITIAL_STATE, ...change }
  return renderToStaticMarkup(createElement(LockBanner, { state, lock: null, ...props }))
}

describe('while another tab edits', () => {
  it.each([
    ['read-only', 'Wait in line'],
    ['waiting', 'Leave the line'],
  ] as const)('(%s) one action is a button, the others are quiet links', (phase, main) => {
    const found = markupOf({ phase }).matchAll(/<button type="button"(?: class="([^"]*)")?>([^<]*)/g)
    const actions = Array.from(found, ([, look, text]) => ({ text, isQuiet: look === 'hf-quiet' }))
    expect(actions).toEqual([
      { text: main, isQuiet: false },
      { text: 'Ask for it', isQuiet: true },
      { text: 'Take over', isQuiet: true },
    ])
  })
})

/** The text of an error in the banner, and its title. */
function alertOf(code: LeaseErrorCode, props: Pick<LockBannerProps, 'lang' | 'texts'>) {
  const markup = markupOf({ phase: 'error', error: new LeaseError(code, REASON) }, props)
  const [, title, text = ''] = /<p role="alert" title="([^"]*)">([^<]*)<\/p>/.exec(markup) ?? []
  return { title, text }
}

describe('an error of the lock', () => {
  it.each([
    ['store-unavailable', 'en', 'The server does not answer now. Try again in a moment.'],
    ['store-failed', 'en', /^You cannot edit this document\./],
    ['store-unavailable', 'ja', /^いまサーバーにつながりません。/],
    ['store-failed', 'ja', /^この文書は編集できません。/],
  ] as const)(
    '%s is shown in plain words (%s), with the technical reason as a title',
    (code, lang, words) => {
      const { title, text } = alertOf(code, { lang })
      expect(text).toMatch(words)
      expect(text).not.toMatch(lang === 'ja' ? LATIN_WORD : /413|bytes/)
      expect(title).toBe(REASON)
    },
  )

  it('is shown in the own words of the page, if it has some', () => {
    const failed = vi.fn((reason: string) => `Sorry: ${reason}`)
    expect(alertOf('store-failed', { texts: { failed } }).text).toBe(`Sorry: ${REASON}`)
    expect(failed).toHaveBeenCalledWith(REASON, 'store-failed')
  })
})
