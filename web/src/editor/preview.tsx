import './preview.css'
import { markdownLanguage } from '@codemirror/lang-markdown'
import {
  createElement,
  Fragment,
  type ReactNode,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { DraftState } from '../../../src/client/index.ts'

type SyntaxNode = ReturnType<typeof markdownLanguage.parser.parse>['topNode']

/** Elements whose content is shown inside the element of this name. */
const ELEMENTS: Readonly<Record<string, string>> = {
  Paragraph: 'p',
  ATXHeading1: 'h3',
  SetextHeading1: 'h3',
  ATXHeading2: 'h4',
  SetextHeading2: 'h4',
  ATXHeading3: 'h5',
  ATXHeading4: 'h6',
  ATXHeading5: 'h6',
  ATXHeading6: 'h6',
  Blockquote: 'blockquote',
  BulletList: 'ul',
  OrderedList: 'ol',
  ListItem: 'li',
  Emphasis: 'em',
  StrongEmphasis: 'strong',
  Strikethrough: 'del',
  Table: 'tbody',
  TableRow: 'tr',
  TableHeader: 'tr',
  TableCell: 'td',
}
/** Between the parts of these there is no text. */
const CONTAINERS = ['BulletList', 'OrderedList', 'Table', 'TableRow', 'TableHeader']
const WEB_ADDRESS = /^(https?:|mailto:)/i

/** A longer text is shown up to here, because a page with more elements is slow. */
const LONGEST = 50_000
/** After the last key in a long text. A short one is shown at once. */
const PAUSE_MS = 400
const SHORT = 10_000

interface PreviewProps {
  readonly draft: DraftState<string>
  readonly label: string
  /** Shown if there is no text. */
  readonly hint: string
  /** Shown at the end if there is more text. */
  readonly more: string
}

/**
 * Markdown as React elements, made from the syntax tree of the editor. No HTML of the document is ever interpreted:
 * it is shown as text.
 */
export function Preview({ draft, label, hint, more }: PreviewProps) {
  const text = usePreviewed(draft)
  const latest = useDeferredValue(text.slice(0, LONGEST))
  const content = useMemo(() => {
    const { topNode } = markdownLanguage.parser.parse(latest)
    return childrenOf(topNode, latest)
  }, [latest])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it.
    <section className="preview" aria-label={label} tabIndex={0}>
      {latest.trim() === '' ? <p className="quiet">{hint}</p> : content}
      {text.length > LONGEST && <p className="quiet">{more}</p>}
    </section>
  )
}

/** A long text is copied after a pause only, not for every key. */
function usePreviewed(draft: DraftState<string>): string {
  const [text, setText] = useState(() => draft.content)
  const length = useRef(text.length)
  const latest = useRef(draft)
  const { version } = draft
  useEffect(() => {
    latest.current = draft
  }, [draft])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version is another content.
  useEffect(() => {
    const show = () => {
      length.current = latest.current.content.length
      setText(latest.current.content)
    }
    if (length.current < SHORT) {
      show()
      return
    }
    const timer = setTimeout(show, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [version])
  return text
}

/** The nodes in this one, and the text between them. */
function childrenOf(node: SyntaxNode, text: string): ReactNode[] {
  const children: ReactNode[] = []
  let at = node.from
  for (let child = node.firstChild; child; child = child.nextSibling) {
    const key = child.from
    if (child.from > at) children.push(text.slice(at, child.from))
    children.push(<Fragment key={`${key} ${child.name}`}>{elementOf(child, text)}</Fragment>)
    at = child.to
  }
  if (at < node.to) children.push(text.slice(at, node.to))
  return children
}

function elementOf(node: SyntaxNode, text: string): ReactNode {
  const { name, from, to } = node
  const source = text.slice(from, to)
  const element = name === 'TableCell' && node.parent?.name === 'TableHeader' ? 'th' : ELEMENTS[name]
  if (element) {
    const children = childrenOf(node, text)
    const isText = (child: ReactNode) => typeof child === 'string'
    const shown = CONTAINERS.includes(name) ? children.filter((child) => !isText(child)) : children
    const created = createElement(element, {}, ...shown)
    return name === 'Table' ? <table>{created}</table> : created
  }
  switch (name) {
    case 'FencedCode':
    case 'CodeBlock':
      return (
        <pre>
          <code>{textsOf(node, 'CodeText', text)}</code>
        </pre>
      )
    case 'InlineCode':
      return <code>{source.replace(/^`+ ?| ?`+$/g, '')}</code>
    case 'Link':
    case 'Image':
    case 'Autolink':
    case 'URL':
      return <Anchor node={node} text={text} />
    case 'HorizontalRule':
      return <hr />
    case 'HardBreak':
      return <br />
    case 'Escape':
      return source.slice(1)
    case 'Task':
      return childrenOf(node, text)
    case 'TaskMarker':
      return /x/i.test(source) ? '☑' : '☐'
    case 'HTMLBlock':
    case 'HTMLTag':
    case 'Entity':
    case 'CommentBlock':
      return source
    default:
      // Marks such as `**` and `#`, and the delimiters of tables and links.
      return null
  }
}

/** A picture is a link to it: the page loads nothing from other sites. */
function Anchor({ node, text }: { node: SyntaxNode; text: string }) {
  const url = node.name === 'URL' ? node : node.getChild('URL')
  const address = url ? text.slice(url.from, url.to) : ''
  const words = text.slice(node.from, node.to).replace(/^!?\[([^\]]*)\][\s\S]*$|^<(.*)>$/, '$1$2')
  if (!WEB_ADDRESS.test(address)) return words
  return (
    <a href={address} target="_blank" rel="noreferrer">
      {words}
    </a>
  )
}

function textsOf(node: SyntaxNode, name: string, text: string): string {
  return node
    .getChildren(name)
    .map(({ from, to }) => text.slice(from, to))
    .join('')
}
