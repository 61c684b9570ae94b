import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import { jsonCodec } from '../client/index.ts'
import { useDraft } from './use-draft.ts'

it('useDraft returns an empty draft that is loading on a server', () => {
  const Page = () => {
    const text = useDraft(null)
    const plan = useDraft(null, { codec: jsonCodec({ title: 'New' }) })
    return createElement(
      'p',
      {},
      `[${text.state.content}] ${plan.state.content.title} ${plan.state.status} ${plan.draft}`,
    )
  }
  expect(renderToStaticMarkup(createElement(Page))).toBe('<p>[] New loading null</p>')
})
