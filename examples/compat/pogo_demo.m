% A model that is written, blocked, solved and read in MATLAB or GNU Octave, as scripts for P. Huthwaite's Pogo do:
%   PATH=examples/compat:$PATH octave-cli --eval "addpath('examples', 'examples/compat'); pogo_demo('folder')"
% A steel strip of 60 x 10 mm is hit on the left side; the wave passes two receivers. The folder gets demo.pogo-inp, the
% results, and a picture of the traces: demo.png, or demo.svg where there is nothing to draw with.
function h = pogo_demo(folder)
    if nargin < 1
        folder = '.';
    end
    model = strip();
    base = fullfile(folder, 'demo');
    write_pogo_inp(model, [base, '.pogo-inp']);
    run(sprintf('pogoBlock "%s.pogo-inp" --setVerbosity 0', base));
    run(sprintf('pogoSolve64 "%s" -o --setVerbosity 0', base));
    h = loadHist([base, '.pogo-hist']);
    near = h.sets.near.histTraces;
    far = h.sets.far.histTraces;
    fprintf('%d samples of %g s; peaks %.3g m and %.3g m\n', h.nt, h.dt, max(abs(near)), max(abs(far)));
    try
        figure('visible', 'off');
        plot(1e6 * h.t, 1e9 * near, 1e6 * h.t, 1e9 * far);
        xlabel('Time / us');
        ylabel('Displacement / nm');
        legend('near', 'far');
        print([base, '.png'], '-dpng');
    catch
        write_svg([base, '.svg'], 1e6 * h.t, 1e9 * [near, far]);
    end
end

function run(command)
    if system(command) ~= 0
        error('%s failed', command);
    end
end

% Four-node elements, 0.5 mm; a Hann burst of three cycles of 300 kHz on the left side, of 1 N a node.
function model = strip()
    [nx, ny, size] = deal(121, 21, 0.5e-3);
    [x, y] = ndgrid((0:nx - 1) * size, (0:ny - 1) * size);
    model.nodes = [x(:), y(:)]';
    [i, j] = ndgrid(0:nx - 2, 0:ny - 2);
    corner = i(:)' + nx * j(:)';
    model.elements = [corner; corner + 1; corner + 1 + nx; corner + nx];
    model.material = [210e9, 0.3, 7850];
    model.dt = 5e-8;
    model.nt = 500;
    t = (0:model.nt - 1) * model.dt;
    length = 3 / 300e3;
    model.signal = (t < length) .* sin(pi * t / length).^2 .* sin(2 * pi * 300e3 * t);
    % Codes of degrees of freedom: 4 * node + component, both from 0.
    model.force = 4 * nx * (0:ny - 1);
    model.sets = struct('name', {'near', 'far'}, 'dofs', {4 * (nx * 10 + 40), 4 * (nx * 10 + 80)});
end

% Version 1.07: parts in a fixed order, without names.
function write_pogo_inp(model, path)
    file = fopen(path, 'w', 'ieee-le');
    if file < 0
        error('cannot write %s', path);
    end
    close_file = onCleanup(@() fclose(file));
    n_nodes = size(model.nodes, 2);
    n_elements = size(model.elements, 2);
    text(file, '%pogo-inp1.07', 20);
    fwrite(file, [8, 2, 2], 'int32');
    text(file, 'a strip', 1024);
    text(file, 'demo', 80);
    fwrite(file, model.nt, 'uint32');
    fwrite(file, model.dt, 'float64');
    fwrite(file, n_nodes, 'uint32');
    fwrite(file, model.nodes, 'float64');
    fwrite(file, [n_elements, 4], 'int32');
    fwrite(file, zeros(1, 2 * n_elements), 'int32');
    fwrite(file, -ones(1, n_elements), 'int32');
    fwrite(file, model.elements, 'int32');
    % No absorbing sets; one type of elements, one material, no orientations.
    fwrite(file, [0, 0, 1], 'int32');
    text(file, 'CPE4R', 20);
    fwrite(file, [0, 0, 1, 0, numel(model.material)], 'int32');
    fwrite(file, model.material, 'float64');
    % No orientations, nothing fixed, no ties; one shot of one signal.
    fwrite(file, [0, 0, 0, 1, 1, model.nt], 'int32');
    fwrite(file, model.dt, 'float64');
    fwrite(file, [numel(model.force), 0], 'int32');
    fwrite(file, model.force, 'int32');
    fwrite(file, ones(1, numel(model.force)), 'float64');
    fwrite(file, model.signal, 'float64');
    % Every increment, from the first one on.
    fwrite(file, [numel(model.sets), 1, 0], 'int32');
    for set = model.sets
        text(file, set.name, 20);
        fwrite(file, numel(set.dofs), 'int32');
        fwrite(file, set.dofs, 'int32');
    end
    % No fields.
    fwrite(file, [0, -1], 'int32');
end

function text(file, words, n)
    fwrite(file, [double(words), zeros(1, n - numel(words))], 'uint8');
end

% Lines from the left to the right, one a column.
function write_svg(path, x, columns)
    file = fopen(path, 'w');
    if file < 0
        error('cannot write %s', path);
    end
    close_file = onCleanup(@() fclose(file));
    fprintf(file, '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 320">\n');
    colours = {'#1f77b4', '#d62728', '#2ca02c'};
    across = 10 + 620 * (x' - x(1)) / (x(end) - x(1));
    down = 160 - 150 * columns' / max(abs(columns(:)));
    for k = 1:size(columns, 2)
        points = sprintf('%.1f,%.1f ', [across; down(k, :)]);
        fprintf(file, '<polyline fill="none" stroke="%s" points="%s"/>\n', colours{k}, points);
    end
    fprintf(file, '<text x="10" y="315" font-size="12">%g to %g us; largest %.3g nm</text>\n</svg>\n', ...
            x(1), x(end), max(abs(columns(:))));
end
