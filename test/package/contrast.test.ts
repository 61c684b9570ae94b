import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

const READABLE = 4.5

/** Which colours stand on which, by their names in the style sheet. */
const sheets = [
  {
    sheet: 'src/react/styles.css',
    grounds: ['--hf-card'],
    texts: ['text', 'quiet', 'accent', 'held', 'pending', 'waiting', 'fallback', 'lost', 'unknown'].map(
      (name) => `--hf-${name}`,
    ),
    button: ['--hf-on-accent', '--hf-accent'],
  },
  {
    sheet: 'web/src/ui/tokens.css',
    grounds: ['--card', '--page', '--sunken'],
    texts: ['text', 'quiet', 'accent', 'held', 'pending', 'waiting', 'lost', 'unknown'].map(
      (name) => `--${name}`,
    ),
    button: ['--on-accent', '--accent'],
  },
  {
    sheet: 'examples/extension/src/tokens.css',
    grounds: ['--card', '--page', '--sunken'],
    texts: ['text', 'quiet', 'accent', 'held', 'pending', 'lost', 'unknown'].map((name) => `--${name}`),
    button: ['--on-accent', '--accent'],
  },
] as const

describe.each(sheets)('the colours of $sheet', ({ sheet, grounds, texts, button: [label, surface] }) => {
  const colours = coloursOf(readFileSync(join(root, sheet), 'utf8'))
  it.each(['light', 'dark'] as const)('can be read in the %s theme', (theme) => {
    const pairs = grounds.flatMap((ground) => texts.map((text) => [text, ground] as const))
    for (const [text, ground] of [...pairs, [label, surface] as const]) {
      const contrast = contrastOf(colours[text]?.[theme], colours[ground]?.[theme])
      expect(contrast, `${text} on ${ground}`).toBeGreaterThanOrEqual(READABLE)
    }
  })
})

function coloursOf(css: string): Record<string, { light: string; dark: string }> {
  const found = css.matchAll(/(--[\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)
  return Object.fromEntries(Array.from(found, ([, name, light = '', dark = '']) => [name, { light, dark }]))
}

/** As the Web Content Accessibility Guidelines define it. */
function contrastOf(a = '', b = ''): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
