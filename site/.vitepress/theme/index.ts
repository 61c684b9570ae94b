import { useData } from 'vitepress'
import theme from 'vitepress/theme'
import { h } from 'vue'
import picture from '../../../docs/images/late-write.svg'
import Contention from './Contention.vue'
import './contrast.css'

export default {
  extends: theme,
  Layout: () => h(theme.Layout, null, { 'home-hero-after': () => h(FrontPicture) }),
  /** What `<!-- live: … -->` of a page shows. */
  enhanceApp({ app }) {
    app.component('TwoWorkers', () => h(Contention, { kind: 'memory' }))
    app.component('TwoTabs', () => h(Contention, { kind: 'web' }))
  },
} satisfies typeof theme

function FrontPicture() {
  return h('img', { class: 'front-picture', src: picture, alt: useData().frontmatter.value.picture })
}
