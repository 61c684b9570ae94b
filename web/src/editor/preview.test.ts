import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import type { DraftState } from '../../../src/client/index.ts'
import { Preview } from './preview.tsx'

function shown(text: string): string {
  const draft = { content: text, version: 1 } as DraftState<string>
  const markup = renderToStaticMarkup(
    createElement(Preview, { draft, label: 'Preview', hint: 'nothing', more: 'more' }),
  )
  return markup.replace(/^<section[^>]*>|<\/section>$/g, '').trim()
}

describe('the preview of a text', () => {
  it.each([
    ['# Title', '<h3> Title</h3>'],
    ['a **b** _c_ ~~d~~ `e`', '<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code></p>'],
    ['- a\n- b', '<ul><li> <p>a</p></li><li> <p>b</p></li></ul>'],
    ['- [x] a', '<ul><li> ☑ a</li></ul>'],
    ['> a', '<blockquote> <p>a</p></blockquote>'],
    ['```js\na < b\n```', '<pre><code>a &lt; b</code></pre>'],
    ['---', '<hr/>'],
    ['\\*a\\*', '<p>*a*</p>'],
  ])('the preview of a text shows %j', (text, markup) => {
    expect(shown(text)).toBe(markup)
  })

  it('the preview of a text shows tables', () => {
    expect(shown('| a | b |\n|---|---|\n| 1 | 2 |')).toBe(
      '<table><tbody><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></tbody></table>',
    )
  })

  it('links to the web only, and loads no pictures', () => {
    const rest = 'target="_blank" rel="noreferrer"'
    expect(shown('[a](https://a.test)')).toBe(`<p><a href="https://a.test" ${rest}>a</a></p>`)
    expect(shown('![a](https://a.test/a.png)')).toBe(`<p><a href="https://a.test/a.png" ${rest}>a</a></p>`)
    expect(shown('[a](javascript:alert)')).toBe('<p>a</p>')
    expect(shown('[a](data:text/html,x)')).toBe('<p>a</p>')
  })

  it('the preview of a text shows HTML as text', () => {
    expect(shown('<script>alert(1)</script>')).toBe('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(shown('a <b onclick="x">b</b>')).toBe('<p>a &lt;b onclick=&quot;x&quot;&gt;b&lt;/b&gt;</p>')
  })

  it('says that there is nothing to show', () => {
    expect(shown(' \n')).toContain('nothing')
  })

  it('the preview of a text shows the beginning of a long text, and says so', () => {
    const markup = shown(`# Title\n\n${'word '.repeat(50_000)}`)
    expect(markup).toContain('<h3> Title</h3>')
    expect(markup.length).toBeLessThan(75_000)
    expect(markup).toContain('<p class="quiet">more</p>')
  })
})
