import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import { Avatar } from './avatar.tsx'

it.each([
  ['Mika', 'M'],
  ['Mika Maria Sato', 'MS'],
  ['Mika (night shift)', 'MS'],
  ['Mika (12)', 'M1'],
  ['Mika -', 'M'],
  ['佐藤 美香', '佐'],
  ['あおい', 'あ'],
  ['김 민준', '김'],
  ['Sato 美香', 'S美'],
  ['🦊 Fox', '🦊F'],
  ['--', '?'],
  [null, '?'],
])('the avatar of %s has the initials %s', (name, initials) => {
  const markup = renderToStaticMarkup(createElement(Avatar, { id: 'x', name }))
  expect(markup.replace(/<[^>]+>/g, '')).toBe(initials)
})
