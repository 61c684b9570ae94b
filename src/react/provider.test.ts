import { createElement, type ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { AutoSaveIndicator } from './autosave-indicator.tsx'
import { DraftStatusText } from './draft-status.tsx'
import { LockBanner } from './lock-banner.tsx'
import { HoldfastProvider, type HoldfastProviderProps, useServer } from './provider.tsx'
import { TextComparison } from './text-comparison.tsx'

describe('a provider', () => {
  const inside = (props: HoldfastProviderProps, ...children: ReactNode[]) =>
    createElement(HoldfastProvider, props, ...children)

  function Server(options: Parameters<typeof useServer>[0]): ReactNode {
    return JSON.stringify(useServer(options))
  }
  const shown = (element: ReactNode) => JSON.parse(renderToStaticMarkup(element).replaceAll('&quot;', '"'))

  const outer = { url: 'http://a', name: 'Mika', headers: { 'x-a': '1' } }

  it('says which server it is, and who is editing', () => {
    expect(shown(inside(outer, createElement(Server)))).toEqual(outer)
  })

  it('a provider counts less than what a hook says itself', () => {
    expect(shown(inside(outer, createElement(Server, { name: 'Ken', url: undefined })))).toEqual({
      ...outer,
      name: 'Ken',
    })
  })

  it('inside another one changes only what it says', () => {
    const inner = inside({ url: 'http://b', headers: undefined }, createElement(Server))
    expect(shown(inside(outer, inner))).toEqual({ ...outer, url: 'http://b' })
  })

  it('a provider is not needed', () => {
    expect(shown(createElement(Server))).toEqual({})
  })

  it.each([
    ['LockBanner', createElement(LockBanner, { lock: null })],
    ['DraftStatusText', createElement(DraftStatusText, { state: { status: 'saved', savedAt: null } })],
    ['TextComparison', createElement(TextComparison, { theirs: 'a', mine: 'b' })],
    ['AutoSaveIndicator', createElement(AutoSaveIndicator, { autosave: null })],
  ])('a provider sets the language of %s, which says it to the browser', (_, component) => {
    const japanese = renderToStaticMarkup(inside({ lang: 'ja' }, component))
    expect(japanese).toContain('lang="ja"')
    expect(japanese).toMatch(/[\u3040-\u30ff]/)
    expect(renderToStaticMarkup(component)).toContain('lang="en"')
  })

  it('a provider refuses a property that it does not know', () => {
    const wrong = { adress: 'http://a' } as HoldfastProviderProps
    expect(() => renderToStaticMarkup(inside(wrong))).toThrow('`adress`: unknown option')
  })
})
