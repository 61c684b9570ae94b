import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { type Draft, type DraftState, EMPTY_DRAFT } from './draft.ts'
import { KeptText } from './kept-text.tsx'
import { editorTexts } from './texts.ts'

const REASON = 'the server answered 413: a body may have 1048576 bytes here'

function alertOf(status: DraftState['status'], lang: 'en' | 'ja', isOutdated = false): string | undefined {
  const state = { ...EMPTY_DRAFT, text: 'mine', stored: 'theirs', status, isOutdated, reason: REASON }
  const props = { draft: {} as Draft, state, isHeld: true, words: editorTexts[lang] }
  return /<p role="alert".*?<\/p>/.exec(renderToStaticMarkup(createElement(KeptText, props)))?.[0]
}

describe.each(['en', 'ja'] as const)('a text that was not saved (%s)', (lang) => {
  it('shows plain words, and the reason of the server as a title', () => {
    expect(alertOf('refused', lang)).toBe(
      `<p role="alert" title="${REASON}">${editorTexts[lang].refused}</p>`,
    )
  })

  it('says whether another version was saved since', () => {
    expect(alertOf('kept', lang)).toBe(`<p role="alert">${editorTexts[lang].kept(true)}</p>`)
    expect(alertOf('kept', lang, true)).toBe(`<p role="alert">${editorTexts[lang].outdated(true)}</p>`)
  })
})
