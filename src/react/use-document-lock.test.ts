import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import { useDocumentLock } from './use-document-lock.ts'

function render(options: Parameters<typeof useDocumentLock>[1]): string {
  const Page = () => {
    const { state, lock } = useDocumentLock('minutes-42', options)
    return createElement('p', {}, `${state.phase} ${lock}`)
  }
  return renderToStaticMarkup(createElement(Page))
}

it('useDocumentLock returns the initial state and no lock on a server', () => {
  expect(render({ url: new URL('http://holdfast.test'), headers: { a: 'b' } })).toBe('<p>idle null</p>')
})
