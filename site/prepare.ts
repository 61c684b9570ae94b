/**
 * Makes the pages of the site in `pages/`: the pages of `docs`, the changelog, the reference of every entry from its
 * types, and `llms.txt` in short and full form. What a page needs only in the repository is translated:
 *
 * - the words after the three backticks (CONTRIBUTING, "Code on the pages") become a language and the name of the file;
 * - `<!-- tabs: ioredis, redis -->` shows the next blocks, one for each name, as tabs;
 * - `<!-- live: <component> -->` shows a component of the theme;
 * - `<!-- programs of the README -->` of a front shows the two programs of the README, as tabs.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { entryPoints, pageOf, typesOf } from './entries.ts'
import { groups, japanese } from './sidebar.ts'

const here = import.meta.dirname
const root = join(here, '..')
const docs = join(root, 'docs')
const output = join(here, 'pages')
/** Files of the repository are not part of the site. */
const LINK_TO_REPOSITORY = /\[(.+?)\]\([A-Z]+\.md\)/g

rmSync(output, { recursive: true, force: true })
cpSync(docs, output, { recursive: true, filter: (path) => !path.endsWith('.md') })
const pages = globSync('**/*.md', { cwd: docs }).map((path) => path.replace(/\.md$/, ''))
refuseUnlisted(pages)
for (const page of pages) write(`${page}.md`, translate(readFileSync(join(docs, `${page}.md`), 'utf8')))
write('changelog.md', readFileSync(join(root, 'CHANGELOG.md'), 'utf8').replaceAll('](docs/', '](/'))
write(
  'internals.md',
  readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').replaceAll(LINK_TO_REPOSITORY, '$1'),
)
write('index.md', frontOf('home.md', 'README.md'))
write('ja/index.md', frontOf('home.ja.md', 'docs/ja/README.md'))
writeReference()
writeForModels()

function refuseUnlisted(found: readonly string[]): void {
  const listed = [...groups, japanese].flatMap((group) => group.pages)
  const missing = found.filter((page) => !listed.includes(page))
  const gone = listed.filter((page) => !found.includes(page))
  if (missing.length > 0) throw new Error(`site/sidebar.ts does not list ${missing.join(', ')}`)
  if (gone.length > 0) throw new Error(`site/sidebar.ts lists pages that do not exist: ${gone.join(', ')}`)
}

function translate(markdown: string): string {
  return named(asTabs(markdown))
    .replace(/<!-- live: (\w+) -->/g, '<$1 />')
    .replace(/<!-- preamble[\s\S]*?-->\n/g, '')
    .replace(/\]\((?:\.\.\/)+CHANGELOG\.md\)/g, '](/changelog.md)')
    .replace(/^( *```)(\w+) (.+)$/gm, (_, ticks: string, language: string, words: string) => {
      const file = /file: (\S+)/.exec(words)?.[1]
      const title = /^\[.*\]$/.test(words) ? words : file && `[${file}]`
      return `${ticks}${language}${title ? ` ${title}` : ''}`
    })
}

/** A front shows the programs of its README, which are tested there. */
function frontOf(front: string, readme: string): string {
  const [redis, sqlite] = Array.from(
    readFileSync(join(root, readme), 'utf8').matchAll(/^```js.*\n([\s\S]*?)^```$/gm),
    ([, code = '']) => code,
  )
  if (!redis || !sqlite) throw new Error(`${readme} does not have two programs`)
  const programs = `::: code-group\n\n\`\`\`js [Redis]\n${redis}\`\`\`\n\n\`\`\`js [SQLite]\n${sqlite}\`\`\`\n\n:::`
  return readFileSync(join(here, front), 'utf8').replace('<!-- programs of the README -->', () => programs)
}

/** The site shows the name of a file as a tab, and tabs only in a group. */
function named(markdown: string): string {
  return markdown.replace(
    /^```(\w+) .*?file: (\S+).*\n[\s\S]*?^```$/gm,
    (block, language: string, file: string) => {
      const code = block.slice(block.indexOf('\n'))
      return `::: code-group\n\n\`\`\`${language} [${file}]${code}\n\n:::`
    },
  )
}

function asTabs(markdown: string): string {
  return markdown.replace(
    /<!-- tabs: (.+?) -->\n([\s\S]*?)<!-- end of tabs -->/g,
    (_, names: string, text: string) => {
      const titles = names.split(', ')
      let next = 0
      const titled = text.replace(
        /^```(\w+)(?: .+)?$/gm,
        (_all, language: string) => `\`\`\`${language} [${titles[next++]}]`,
      )
      if (next !== titles.length) throw new Error(`${next} blocks for the tabs ${names}`)
      return `::: code-group\n\n${titled.trim()}\n\n:::`
    },
  )
}

/** One page for each entry of the package, from the declarations that users get. */
function writeReference(): void {
  execFileSync('npx', ['typedoc', '--options', 'typedoc.json', ...entryPoints.map(typesOf)], {
    cwd: here,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (const entry of entryPoints) {
    const page = `api/${pageOf(entry)}.md`
    const text = readFileSync(join(output, page), 'utf8')
    write(page, text.replace(/^# .+$/m, `# ${entry.replace('.', 'holdfast')}`))
  }
}

/** https://llmstxt.org: a list of the pages, and all of them in one text. */
function writeForModels(): void {
  const titled = groups.flatMap(({ text, pages: members }) => [
    `\n## ${text}\n`,
    ...members.map((page) => `- [${titleOf(page)}](/${page}.html)`),
  ])
  const intro =
    '# Holdfast\n\n> Leases for TypeScript: who may write this now, until when, and how does everyone else find out?'
  write('public/llms.txt', `${[intro, ...titled].join('\n')}\n`)
  const full = groups.flatMap(({ pages: members }) =>
    members.map((page) => readFileSync(join(docs, `${page}.md`), 'utf8')),
  )
  write('public/llms-full.txt', [readFileSync(join(root, 'README.md'), 'utf8'), ...full].join('\n\n'))
}

function titleOf(page: string): string {
  const [, title = basename(page)] = /^# (.+)$/m.exec(readFileSync(join(docs, `${page}.md`), 'utf8')) ?? []
  return title
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(output, path)), { recursive: true })
  writeFileSync(join(output, path), text)
}
