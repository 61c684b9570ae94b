import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import type { Draft, DraftState } from './draft.ts'
import { KeptText } from './kept-text.tsx'
import { editorTexts } from './texts.ts'

const REASON = 'the server answered 413: a body may have 1048576 bytes here'

function alertOf(status: DraftState['status'], lang: 'en' | 'ja'): string | undefined {
  const state = { text: 'mine', stored: 'theirs', status, reason: REASON }
  const props = { draft: {} as Draft, state, isHeld: true, words: editorTexts[lang] }
  return /<p role="alert".*?<\/p>/.exec(renderToStaticMarkup(createElement(KeptText, props)))?.[0]
}

describe.each(['en', 'ja'] as const)('a text that was not saved (%s)', (lang) => {
  it('shows plain words, and the reason of the server as a title', () => {
    expect(alertOf('refused', lang)).toBe(
      `<p role="alert" title="${REASON}">${editorTexts[lang].refused}</p>`,
    )
  })

  it('has no reason of the server if another tab may have changed the document', () => {
    expect(alertOf('kept', lang)).toBe(`<p role="alert">${editorTexts[lang].kept}</p>`)
  })
})
