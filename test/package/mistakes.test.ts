import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { MISTAKES, messageFor } from './mistakes.ts'

const PAGE = join(root, 'docs/errors.md')
const GENERATED = /(<!-- generated: .*? -->\n)[\s\S]*(<!-- end -->)/

/** `npx vitest run test/package/mistakes.test.ts -u` writes the page anew. */
it('the page of mistakes shows the message of each', async () => {
  const tables: string[] = []
  for (const [part, codes] of Object.entries(MISTAKES)) {
    tables.push(`\n### ${part}\n\n| written | message |\n|---|---|\n`)
    for (const code of codes) tables.push(`| ${cell(code)} | ${cell(await messageFor(code))} |\n`)
  }
  expect(Object.values(MISTAKES).flat().length).toBeGreaterThanOrEqual(40)
  const page = readFileSync(PAGE, 'utf8')
  const generated = page.replace(GENERATED, (_, begin, end) => `${begin}${tables.join('')}\n${end}`)
  await expect(generated).toMatchFileSnapshot(PAGE)
})

it('the page lists every code', () => {
  const page = readFileSync(PAGE, 'utf8')
  const source = readFileSync(join(root, 'src/base/errors.ts'), 'utf8')
  const codes = Array.from(source.matchAll(/^ {2}\| '([\w-]+)'$/gm), ([, code]) => code)
  expect(codes.length).toBeGreaterThan(20)
  expect(codes.filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([])
})

/** Code in a table: a message may contain backticks and pipes. */
function cell(text: string): string {
  const escaped = text.replaceAll('|', '\\|').replaceAll('\n', ' ')
  return text.includes('`') ? `\`\` ${escaped} \`\`` : `\`${escaped}\``
}
