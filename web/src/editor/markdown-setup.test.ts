import { language } from '@codemirror/language'
import { EditorState } from '@codemirror/state'
import { expect, it } from 'vitest'
import { markdownSetup } from './markdown-setup.ts'

it('the editor parses a text while it is not too long, so that a key in a long one takes no longer', () => {
  const start = EditorState.create({ doc: '# Title', extensions: [markdownSetup()] })
  expect(start.facet(language)?.name).toBe('markdown')
  const long = start.update({ changes: { from: 7, insert: 'word '.repeat(20_000) } }).state
  expect(long.facet(language)).toBeNull()
  const short = long.update({ changes: { from: 7, to: long.doc.length } }).state
  expect(short.facet(language)?.name).toBe('markdown')
})
