import theme from 'vitepress/theme'
import { h } from 'vue'
import Contention from './Contention.vue'
import './contrast.css'

export default {
  extends: theme,
  /** What `<!-- live: … -->` of a page shows. */
  enhanceApp({ app }) {
    app.component('TwoWorkers', () => h(Contention, { kind: 'memory' }))
    app.component('TwoTabs', () => h(Contention, { kind: 'web' }))
  },
} satisfies typeof theme
