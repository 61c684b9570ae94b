import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { entryPoints, pageOf } from '../entries.ts'
import { groups } from '../sidebar.ts'

const pages = join(import.meta.dirname, '../pages')

export default defineConfig({
  title: 'Holdfast',
  description: 'Leases for TypeScript, from the browser tab to the database.',
  srcDir: 'pages',
  outDir: 'dist',
  cleanUrls: false,
  lastUpdated: false,
  markdown: { theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start/workers' },
      { text: 'Guide', link: '/guide' },
      { text: 'API', link: '/api/core' },
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar: [
      ...groups.map(({ text, pages: members }) => ({
        text,
        items: members.map((page) => ({ text: titleOf(page), link: `/${page}` })),
      })),
      {
        text: 'API',
        items: entryPoints.map((entry) => ({
          text: entry === '.' ? 'holdfast' : `holdfast${entry.slice(1)}`,
          link: `/api/${pageOf(entry)}`,
        })),
      },
    ],
  },
})

function titleOf(page: string): string {
  const file = join(pages, `${page}.md`)
  return (existsSync(file) && /^# (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]) || page
}
