import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import type { Draft, DraftState } from '../client/index.ts'
import { LeaseError } from '../core/index.ts'
import { DraftNotice } from './draft-notice.tsx'
import { draftTexts } from './draft-texts.ts'

const MESSAGE = 'the server answered 413: expected a body of at most 1048576 bytes'

function alertOf(lang: 'en' | 'ja', change: Partial<DraftState<string>>): string | undefined {
  const state = { content: 'mine', stored: 'theirs', theirs: null, isOutdated: false, error: null, ...change }
  const draft = {} as Draft<string>
  const props = { draft, state: state as DraftState<string>, isHeld: true, lang }
  return /<p role="alert".*?<\/p>/.exec(renderToStaticMarkup(createElement(DraftNotice<string>, props)))?.[0]
}

describe.each(['en', 'ja'] as const)('a text that was not saved (%s)', (lang) => {
  const words = draftTexts[lang]

  it('shows plain words, and the reason of the server as a title', () => {
    const error = new LeaseError('store-failed', 'no', { cause: { status: 403 } })
    expect(alertOf(lang, { status: 'refused', error })).toBe(
      `<p role="alert" lang="${lang}" title="no">${words.refused}</p>`,
    )
  })

  it('names the limit of the server if it is too long', () => {
    const error = new LeaseError('store-failed', MESSAGE, { cause: { status: 413, limit: 1_048_576 } })
    const shown = alertOf(lang, { status: 'refused', error })
    expect(shown).toBe(`<p role="alert" lang="${lang}" title="${MESSAGE}">${words.tooLong(1_048_576)}</p>`)
    expect(shown).toContain('1\u00a0MB')
  })

  it('says whether others have changed the same parts, other parts, or nothing', () => {
    expect(alertOf(lang, { status: 'kept' })).toBe(`<p role="alert" lang="${lang}">${words.kept(true)}</p>`)
    expect(alertOf(lang, { status: 'kept', isOutdated: true })).toBe(
      `<p role="alert" lang="${lang}">${words.outdated}</p>`,
    )
    expect(alertOf(lang, { status: 'conflict', isOutdated: true, theirs: 'theirs' })).toBe(
      `<p role="alert" lang="${lang}">${words.conflict(true)}</p>`,
    )
  })
})
