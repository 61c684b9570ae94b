import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { entryPoints, moduleOf, pageOf } from '../entries.ts'
import { type Group, groups, japanese } from '../sidebar.ts'

const pages = join(import.meta.dirname, '../pages')

export default defineConfig({
  title: 'Holdfast',
  description: 'Leases for TypeScript, from the browser tab to the database.',
  srcDir: 'pages',
  outDir: 'dist',
  cleanUrls: false,
  lastUpdated: false,
  markdown: { theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } },
  // The examples that run in a page take the built package.
  vite: {
    resolve: {
      alias: entryPoints.map((entry) => ({
        find: new RegExp(`^holdfast${entry.slice(1)}$`),
        replacement: moduleOf(entry),
      })),
    },
  },
  locales: {
    root: { label: 'English', lang: 'en' },
    ja: {
      label: '日本語',
      lang: 'ja',
      description: 'TypeScript のためのリース。ブラウザーのタブからデータベースまで。',
      themeConfig: {
        nav: [
          { text: 'はじめる', link: '/ja/start/workers' },
          { text: 'ガイド（英語）', link: '/guide' },
          { text: 'API（英語）', link: '/api/core' },
        ],
        sidebar: [asItems(japanese)],
        outline: { level: [2, 3], label: 'このページの内容' },
        docFooter: { prev: '前へ', next: '次へ' },
        sidebarMenuLabel: 'メニュー',
        returnToTopLabel: '先頭へ戻る',
        darkModeSwitchLabel: '配色',
        lightModeSwitchTitle: '明るい配色にする',
        darkModeSwitchTitle: '暗い配色にする',
        langMenuLabel: '言語',
      },
    },
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        // Japanese has no spaces between words.
        miniSearch: {
          options: {
            tokenize: (text) =>
              Array.from(new Intl.Segmenter('ja', { granularity: 'word' }).segment(text))
                .filter(({ isWordLike }) => isWordLike)
                .map(({ segment }) => segment),
          },
        },
        locales: {
          ja: {
            translations: {
              button: { buttonText: '検索', buttonAriaLabel: '検索' },
              modal: {
                noResultsText: '見つかりません:',
                resetButtonTitle: '消す',
                displayDetails: '詳しく表示する',
                backButtonTitle: '検索を閉じる',
                footer: { selectText: '開く', navigateText: '移動', closeText: '閉じる' },
              },
            },
          },
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start/workers' },
      { text: 'Guide', link: '/guide' },
      { text: 'API', link: '/api/core' },
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar: [
      ...groups.map(asItems),
      {
        text: 'Behind it',
        items: [
          { text: 'Architecture', link: '/internals' },
          { text: 'Changelog', link: '/changelog' },
        ],
      },
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

function asItems({ text, pages: members }: Group) {
  return { text, items: members.map((page) => ({ text: titleOf(page), link: `/${page}` })) }
}

function titleOf(page: string): string {
  const file = join(pages, `${page}.md`)
  return (existsSync(file) && /^# (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]) || page
}
